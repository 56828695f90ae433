import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { requirements } from '../../src/errors/messages.ts';
import { isMissing, must, parseWith, reading } from '../../src/wire/parse-with.ts';

const row = z.object({
  id: z.string().min(1, { error: isMissing }),
  kind: z.enum(['a', 'b']).optional(),
  count: z
    .int({ error: must(requirements.minInteger(1)) })
    .min(1, { error: must(requirements.minInteger(1)) })
    .optional(),
  size: z.int().max(9).optional(),
  on: z.boolean().optional(),
  half: reading(
    z.number(),
    (value) => (value % 2 === 0 ? value / 2 : null),
    requirements.nonNegative,
  ).optional(),
});
const page = z.object({ rows: z.array(row) });

test('a value that follows its schema is returned as the schema parses it', () => {
  assert.deepEqual(parseWith(page, { rows: [{ id: 'x', half: 8, extra: 1 }], more: 2 }), {
    ok: true,
    value: { rows: [{ id: 'x', half: 4 }] },
  });
});

test('the first fault has its path, and its message in Korean and English', () => {
  const cases: readonly (readonly [unknown, string, string])[] = [
    [null, '', '본문은 JSON 객체여야 합니다. The body must be a JSON object.'],
    [{}, 'rows', '`rows` 값이 없습니다. `rows` is missing.'],
    [{ rows: {} }, 'rows', '`rows` 값은 배열이어야 합니다. `rows` must be an array.'],
    [{ rows: [7] }, 'rows[0]', '`rows[0]` 값은 객체여야 합니다. `rows[0]` must be an object.'],
    [{ rows: [{}] }, 'rows[0].id', '`rows[0].id` 값이 없습니다. `rows[0].id` is missing.'],
    [{ rows: [{ id: '' }] }, 'rows[0].id', '`rows[0].id` 값이 없습니다. `rows[0].id` is missing.'],
    [
      { rows: [{ id: 'x' }, { id: 7, kind: 'c' }] },
      'rows[1].id',
      '`rows[1].id` 값은 문자열이어야 합니다. `rows[1].id` must be a string.',
    ],
    [
      { rows: [{ id: 'x', kind: 'c' }] },
      'rows[0].kind',
      '`rows[0].kind` 값은 다음 중 하나여야 합니다: a, b. `rows[0].kind` must be one of a, b.',
    ],
    [
      { rows: [{ id: 'x', on: 'yes' }] },
      'rows[0].on',
      '`rows[0].on` 값은 true 또는 false여야 합니다. `rows[0].on` must be a boolean.',
    ],
    ...[0, 'x'].map(
      (count) =>
        [
          { rows: [{ id: 'x', count }] },
          'rows[0].count',
          '`rows[0].count` 값은 1 이상의 정수여야 합니다. `rows[0].count` must be an integer of at least 1.',
        ] as const,
    ),
    [
      { rows: [{ id: 'x', half: 3 }] },
      'rows[0].half',
      '`rows[0].half` 값은 0 이상의 수여야 합니다. `rows[0].half` must be a number of at least 0.',
    ],
    // A schema that states no requirement of its own.
    ...[10, 'x'].map(
      (size) =>
        [
          { rows: [{ id: 'x', size }] },
          'rows[0].size',
          '`rows[0].size` 값은 API 문서의 형식을 따라야 합니다. `rows[0].size` must have the form that the API document states.',
        ] as const,
    ),
  ];
  for (const [value, path, message] of cases)
    assert.deepEqual(parseWith(page, value), { ok: false, fault: { path, message } });
});
