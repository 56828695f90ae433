/** The members of a detail that are searched as text are those that a JSON parser finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { detailMember, endUser, tagValue } from '../../src/generations/analytics/facts-sql.ts';
import { type GenerationDetail, tagMember } from '../../src/generations/generation.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';
import { testSeed } from '../harness/tier.ts';

const names = ['reasoning_tokens', 'cache_read_tokens', 'latency_ms', 'generation_ms', 'streamed'];
/** Texts that clients choose and that look like members. */
const texts = [
  '"reasoning_tokens":7,',
  '\\"latency_ms":7',
  '\\\\"streamed":true}',
  '},"generation_ms":9',
  ',',
  '\u0022cache_read_tokens\u0022:1',
];
const tags = ['team', 'latency_ms', 'external_user', '__proto__', 'a"b\\', '팀'];
const count = fc.option(fc.nat(), { nil: null });
const member = fc.oneof(
  fc.tuple(fc.constantFrom('reasoning_tokens', 'cache_read_tokens'), count),
  fc.tuple(
    fc.constantFrom('latency_ms', 'generation_ms'),
    fc.option(fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }), { nil: null }),
  ),
  fc.tuple(fc.constant('streamed'), fc.boolean()),
  fc.tuple(
    fc.constantFrom('title', 'user_agent', 'external_user'),
    fc.option(fc.oneof(fc.constantFrom(...texts), fc.string()), { nil: null }),
  ),
  fc.tuple(
    fc.constant('metadata'),
    fc
      .array(fc.tuple(fc.constantFrom(...tags), fc.oneof(fc.constantFrom(...texts), fc.string())), {
        maxLength: 3,
      })
      .map((pairs) => Object.fromEntries(pairs.map(([name, value]) => [tagMember(name), value]))),
  ),
  fc.tuple(fc.constant('requested_models'), fc.array(fc.constantFrom(...texts), { maxLength: 3 })),
  fc.tuple(fc.constant('attempts'), fc.constant([{ latency: 14, at: [1, 2], failure: texts[0] }])),
);
const detail = fc.array(member, { maxLength: 8 }).map((members) => Object.fromEntries(members));

test('a member that is searched as text has the value that a parser finds', async (t) => {
  const testDatabase = await createTestDatabase();
  t.after(() => testDatabase.drop());
  const database = new Database(testDatabase.address, 1);
  t.after(() => database.close());
  const members = tags.map(tagMember);
  const details = fc.sample(detail, { numRuns: 300, seed: testSeed });
  // As it is stored today, and as the records of before details were kept as text were converted.
  for (const stored of ['value::json', 'value::jsonb::json']) {
    const rows = await database.query<{
      value: string;
      found: readonly (string | null)[];
      wanted: readonly (string | null)[];
      texts: readonly string[];
    }>(
      `SELECT value, ARRAY[${names.map(detailMember).join(', ')}] AS found,
              ARRAY[${names.map((name) => `detail->>'${name}'`).join(', ')}] AS wanted,
              ARRAY[${[endUser, ...members.map((_, at) => tagValue(`$${at + 2}::text`))].join(', ')}] AS texts
       FROM (SELECT value, ${stored} AS detail FROM unnest($1::text[]) value OFFSET 0) d`,
      [details.map((one) => JSON.stringify(one).replaceAll('\\u0000', '')), ...members],
    );
    assert.equal(rows.length, 300);
    for (const { value, found, wanted, texts: values } of rows) {
      assert.deepEqual(found, wanted, `${stored}: ${value}`);
      if (stored !== 'value::json') continue;
      const { external_user: user, metadata } = JSON.parse(value) as GenerationDetail;
      assert.deepEqual(values, [user ?? '', ...members.map((member) => metadata?.[member] ?? '')], value);
    }
  }
});
