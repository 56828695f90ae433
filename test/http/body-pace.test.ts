import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Refusal } from '../../src/errors/catalogue.ts';
import { type BodyReading, readBody } from '../../src/http/read-body.ts';
import type { Clock } from '../../src/time/clock.ts';
import { joined } from '../../src/wire/byte-collector.ts';
import type { JsonBody } from '../../src/wire/json-parser.ts';

/** Timers that fire on request. */
function manual(): { readonly clock: Clock; ring(): Promise<number> } {
  let due: { readonly ms: number; readonly task: () => void } | null = null;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(ms, task) {
      due = { ms, task };
      return { cancel: () => (due = null) };
    },
  };
  return {
    clock,
    async ring() {
      const { ms, task } = due ?? { ms: 0, task: () => {} };
      due = null;
      task();
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      return ms;
    },
  };
}

function read(pace: BodyReading['pace']): { body: PassThrough; done: Promise<unknown> } {
  const body = Object.assign(new PassThrough(), { headers: {} });
  const { signal } = new AbortController();
  const reading: BodyReading = {
    maxBytes: 1_000_000,
    signal,
    holding: () => {},
    pace,
  };
  const done = readBody(body as unknown as IncomingMessage, reading).catch((error: unknown) => error);
  return { body, done };
}

test('a body that is too slow after its first ten seconds is a 408 with the required rate', async () => {
  const { clock, ring } = manual();
  const { body, done } = read({ clock, minBytesPerSecond: 500 });
  body.write('{');
  assert.equal(await ring(), 10_000);
  await ring();
  const refusal = await done;
  assert.ok(refusal instanceof Refusal && refusal.failure === 'timeout', String(refusal));
  assert.match(refusal.message, /at least 500 bytes per second/);
});

test('a body that keeps the minimum rate is read, and bytes that arrived before a late timer count', async () => {
  const { clock, ring } = manual();
  const { body, done } = read({ clock, minBytesPerSecond: 500 });
  body.write('"');
  await ring();
  for (let n = 0; n < 5; n += 1) {
    // It arrives in the turn in which the timer rings.
    setImmediate(() => body.write('x'.repeat(2_500)));
    await new Promise(setImmediate);
    await ring();
  }
  body.end('"');
  assert.equal(((await done) as JsonBody).length, 12_502);
});

test('without a minimum rate a body may take any time', async () => {
  const { body, done } = read(null);
  body.write('1');
  await new Promise(setImmediate);
  body.end();
  assert.equal(joined(((await done) as JsonBody).blocks).toString(), '1');
});
