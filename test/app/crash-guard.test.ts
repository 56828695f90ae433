import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardAgainstCrash } from '../../src/app/crash-guard.ts';
import { createLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';

/** A guard of a process that does not end, on a clock that a test moves. */
function guarded(drainMs: number) {
  const lines: string[] = [];
  const did: string[] = [];
  const timers: { readonly delayMs: number; readonly task: () => void }[] = [];
  let listener: ((error: unknown, origin: string) => void) | null = null;
  const guard = guardAgainstCrash({
    proc: {
      onUncaught(crash) {
        listener = crash;
        return () => {
          listener = null;
        };
      },
      onWarning: () => () => {},
      exit: (code) => void did.push(`exit ${code}`),
    },
    clock: {
      ...systemClock,
      after(delayMs, task) {
        timers.push({ delayMs, task });
        return { cancel() {} };
      },
    },
    log: createLog((line) => lines.push(line), 'error', systemClock.now),
    flush: () => {},
    drainMs: () => drainMs,
    stop: () => void did.push('stop'),
    cut: () => void did.push('cut'),
  });
  return {
    guard,
    lines,
    did,
    throws: (error: unknown) => listener?.(error, 'uncaughtException'),
    isWatched: () => listener !== null,
    passMs(ms: number) {
      for (const { delayMs, task } of timers) if (delayMs <= ms) task();
    },
  };
}

test('a server that does not stop within the drain is cut, and one that does not end then is killed', () => {
  const { guard, did, throws, passMs } = guarded(5_000);
  assert.equal(guard.exitCode(), 0);
  throws(new Error('first'));
  throws(new Error('second'));
  assert.deepEqual(did, ['stop']);
  assert.equal(guard.exitCode(), 70);
  passMs(5_000);
  assert.deepEqual(did, ['stop', 'cut']);
  passMs(15_000);
  assert.deepEqual(did.slice(-1), ['exit 70']);
});

test('an error that repeats does not fill the log', () => {
  const { lines, throws } = guarded(5_000);
  for (let n = 0; n < 1_000; n += 1) throws(new Error('again'));
  assert.equal(lines.length, 20);
});

// security:7
test('the values that an uncaught error quotes are not logged, whatever was thrown', () => {
  const secrets = ['a prompt of a person', 'hunter2hunter2', 'sk-naru-v1-0123456789abcdef0123456789abcdef'];
  const [prompt = '', password = '', key = ''] = secrets;
  const { lines, throws } = guarded(5_000);
  const circular = new Error('round');
  circular.cause = circular;
  for (const thrown of [
    new SyntaxError(`Unexpected token 'x', "${prompt}" is not valid JSON`),
    new SyntaxError(`Unexpected token 'x', "${prompt}`),
    new Error(`connect postgres://naru:${password}@db/naru`, { cause: new TypeError(`no '${prompt}'`) }),
    Object.assign(new Error(`read ECONNRESET ${key}`), { code: 'ECONNRESET' }),
    circular,
    prompt,
    { prompt },
    null,
    undefined,
  ])
    throws(thrown);
  assert.equal(lines.length, 9);
  for (const line of lines) {
    for (const secret of secrets) assert.ok(!line.includes(secret), line);
    assert.equal(line.indexOf('\n'), line.length - 1);
    assert.equal(JSON.parse(line).event, 'uncaught_error');
  }
  assert.match(lines[3] ?? '', /Error \(ECONNRESET\): read ECONNRESET/);
  assert.match(lines[0] ?? '', /crash-guard\.test\.ts/, 'where it came from');
});

test('a guard that is released leaves errors to the process', () => {
  const { guard, isWatched } = guarded(5_000);
  assert.ok(isWatched());
  guard.release();
  assert.ok(!isWatched());
});

test('a requested restart drains like a crash, once, and exits with another code', () => {
  const { guard, did, lines, throws, passMs } = guarded(5_000);
  guard.restart();
  guard.restart();
  assert.deepEqual(did, ['stop']);
  assert.equal(guard.exitCode(), 75);
  passMs(5_000);
  assert.deepEqual(did, ['stop', 'cut']);
  assert.deepEqual(lines, []);
  throws(new Error('meanwhile'));
  assert.equal(guard.exitCode(), 70);
  assert.deepEqual(did, ['stop', 'cut']);
  passMs(15_000);
  assert.ok(did.includes('exit 70'));
});
