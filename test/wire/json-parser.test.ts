import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { after, test } from 'node:test';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';
import { type JsonBody, JsonParser } from '../../src/wire/json-parser.ts';

const opened: JsonParser[] = [];
function parser(script?: URL): JsonParser {
  const made = new JsonParser({ clock: systemClock, log: silentLog }, script);
  opened.push(made);
  return made;
}
after(async () => {
  for (const one of opened) await one.close();
});

const { signal } = new AbortController();
const large = { text: '한글은 "quoted" \ud83d\ude00 '.repeat(20_000), list: [1, 2.5, null, true, { a: [] }] };

function bodyOf(value: unknown): JsonBody {
  return bodyOfBytes(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
}

/** In one block of its own, as a large body is. */
function bodyOfBytes(bytes: Buffer): JsonBody {
  return { blocks: [Buffer.from(new Uint8Array(bytes).buffer)], length: bytes.length };
}

// security:14
test('a large body is parsed in a thread to the same value as here, and a small one needs none', async () => {
  const json = parser();
  assert.deepEqual(json.parse(bodyOf({ a: 1 }), 'c', signal), {
    kind: 'value',
    hasSurrogates: false,
    value: { a: 1 },
  });
  assert.equal(json.hasThread, false);
  assert.deepEqual(await json.parse(bodyOf(large), 'c', signal), {
    kind: 'value',
    hasSurrogates: false,
    value: large,
  });
  assert.deepEqual(await json.parse(bodyOf({ __proto__: 1, a: 2 }), 'c', signal), {
    kind: 'value',
    hasSurrogates: false,
    value: { a: 2 },
  });
  assert.equal(json.hasThread, true);
});

test('the thread has a lower priority than the thread of requests', async () => {
  const json = parser();
  await json.parse(bodyOf(large), 'c', signal);
  const niceness = new Map(
    readdirSync('/proc/self/task').map((id) => {
      const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
      const end = stat.lastIndexOf(')');
      return [stat.slice(stat.indexOf('(') + 1, end), Number(stat.slice(end + 2).split(' ')[16])];
    }),
  );
  assert.equal(niceness.get('naru json'), Math.min(19, getPriority() + 5));
});

test('a body in several blocks is one text, wherever they end', async () => {
  const json = parser();
  for (const value of [large, { a: large.text.slice(0, 150_000) }]) {
    const bytes = Buffer.from(JSON.stringify(value));
    const blocks = [0, 5, 12, 100_001].map((at, n, all) =>
      Buffer.from(new Uint8Array(bytes.subarray(at, all[n + 1])).buffer),
    );
    const body = { blocks, length: bytes.length };
    assert.deepEqual(await json.parse(body, 'c', signal), {
      kind: 'value',
      hasSurrogates: false,
      value,
    });
  }
});

test('a parse error of the thread equals the error here', async () => {
  const json = parser();
  for (const space of ['', ' '.repeat(300_000)]) {
    assert.deepEqual(await json.parse(bodyOf(`{"a":${space}`), 'c', signal), { kind: 'not_json' });
    const latin = bodyOfBytes(Buffer.from(`"\xe4"${space}`, 'latin1'));
    assert.deepEqual(await json.parse(latin, 'c', signal), { kind: 'not_utf8' });
    assert.deepEqual(await json.parse(bodyOf(`${'['.repeat(129)}${space}`), 'c', signal), {
      kind: 'too_deep',
    });
  }
});

test('a member called __proto__ is an ordinary member, also from the thread', async () => {
  const json = parser();
  const parsed = await json.parse(
    bodyOf(`{"__proto__":{"polluted":1},"constructor":2}${' '.repeat(300_000)}`),
    'c',
    signal,
  );
  assert.ok(parsed.kind === 'value');
  const value = parsed.value as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
  assert.equal((value as { polluted?: unknown }).polluted, undefined);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

// security:15
test('the bodies of one client do not delay those of another', async () => {
  const json = parser();
  const order: string[] = [];
  const many = Array.from({ length: 20 }, () =>
    Promise.resolve(json.parse(bodyOf(large), 'many', signal)).then(() => order.push('many')),
  );
  await Promise.resolve(json.parse(bodyOf(large), 'one', signal)).then(() => order.push('one'));
  await Promise.all(many);
  assert.ok(order.indexOf('one') <= 2, order.join());
});

test('a client that leaves the queue is not parsed for', async () => {
  const json = parser();
  const first = json.parse(bodyOf(large), 'c', signal);
  const left = new AbortController();
  const second = json.parse(bodyOf(large), 'c', left.signal);
  left.abort(new Error('left'));
  await assert.rejects(Promise.resolve(second), /left/);
  assert.equal((await first).kind, 'value');
});

test('a thread that dies fails its current body, and the next one is parsed here', async () => {
  const json = parser(new URL('data:text/javascript,process.exit(3)'));
  await assert.rejects(Promise.resolve(json.parse(bodyOf(large), 'c', signal)), /died/);
  assert.deepEqual(await json.parse(bodyOf(large), 'c', signal), {
    kind: 'value',
    hasSurrogates: false,
    value: large,
  });
});
