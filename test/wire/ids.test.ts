import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { integer, property, string } from 'fast-check';
import { hashKey, newKey, parseKeyHash } from '../../src/accounts/api-key.ts';
import {
  type GenerationUuid,
  generationIdOf,
  newGenerationUuid,
  parseGenerationId,
} from '../../src/wire/ids/generation-id.ts';
import { newRequestId } from '../../src/wire/ids/request-id.ts';
import { check } from '../harness/property.ts';

const instants = integer({ min: 1_000, max: 99_999_999_999_000 });

test('the public id of a generation encodes its identity without loss', () => {
  check(
    property(instants, (ms) => {
      const uuid = newGenerationUuid(ms);
      assert.match(uuid, /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
      assert.equal(parseInt(uuid.slice(0, 12), 16), ms);
      const id = generationIdOf(uuid);
      assert.match(id, new RegExp(`^gen-${Math.floor(ms / 1000)}-[0-9A-Za-z]{15}$`));
      assert.equal(parseGenerationId(id), uuid);
    }),
  );
  for (const random of ['7fffbfffffffffffffff', '70008000000000000000']) {
    const uuid = `019abcdef012${random}` as GenerationUuid;
    assert.equal(parseGenerationId(generationIdOf(uuid)), uuid);
  }
});

test('an invalid id parses to nothing, and every valid one re-encodes to itself', () => {
  for (const bad of [
    '',
    'gen-',
    'gen-1-',
    'gen-01-000000000000000',
    'gen-1795219200-00000000000000',
    'gen-1795219200-0000000000000000',
    'gen-1795219200-zzzzz0000000000',
    'GEN-1795219200-000000000000000',
    'gen-1795219200-00000000000000é',
    "gen-1' OR '1",
  ])
    assert.equal(parseGenerationId(bad), null, bad);
  check(
    property(
      integer({ min: 1, max: 99_999_999_999 }),
      string({ minLength: 15, maxLength: 15, unit: 'grapheme-ascii' }),
      (seconds, digits) => {
        const id = `gen-${seconds}-${digits}`;
        const uuid = parseGenerationId(id);
        if (uuid !== null) assert.equal(generationIdOf(uuid), id);
      },
    ),
    { numRuns: 2000 },
  );
});

test('later ids sort behind, and ten thousand of one instant are all different', () => {
  check(
    property(instants, instants, (a, b) => a === b || newGenerationUuid(a) < newGenerationUuid(b) === a < b),
  );
  assert.equal(
    new Set(Array.from({ length: 10_000 }, () => newGenerationUuid(1_795_219_200_000))).size,
    10_000,
  );
});

// spec:conformance/21,54,55
test('a key is identified by the sha256 of its plaintext, and its label reveals at most 28 of 256 bits', () => {
  for (const kind of ['inference', 'management'] as const) {
    const { plaintext, hash, label } = newKey(kind, 'sk-naru-');
    assert.match(
      plaintext,
      kind === 'inference' ? /^sk-naru-v1-[0-9a-f]{64}$/ : /^sk-naru-mgmt-v1-[0-9a-f]{64}$/,
    );
    assert.equal(hash, createHash('sha256').update(plaintext).digest('hex'));
    assert.equal(hashKey(plaintext), hash);
    assert.equal(parseKeyHash(hash), hash);
    const shown = label.slice(plaintext.length - 64).replace('...', '');
    assert.equal(shown.length, 7);
    assert.ok(
      plaintext.startsWith(label.slice(0, label.indexOf('.'))) && plaintext.endsWith(label.slice(-4)),
    );
  }
});

// spec:api/6.2
test('a hash is exactly 64 lower-case hex digits', () => {
  for (const bad of [
    '',
    'a'.repeat(63),
    'a'.repeat(65),
    'A'.repeat(64),
    `${'a'.repeat(63)}g`,
    `${'a'.repeat(64)}\n`,
  ])
    assert.equal(parseKeyHash(bad), null);
});

// spec:conformance/12
test('request ids are different and safe in any header or file name', () => {
  const ids = Array.from({ length: 10_000 }, () => newRequestId());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
});
