import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEngineLog } from '../../src/slots/engine-log.ts';
import { followLog, type LogLine, readLog, startLogs } from '../../src/slots/read-log.ts';
import { systemClock } from '../../src/time/clock.ts';
import { tempDir } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

/* Reading the output of engines while they write it (design.md, L1). */

function slotDir(): { readonly dataDir: string; readonly dir: string } {
  const dataDir = tempDir();
  const dir = join(dataDir, 'slots', 's');
  mkdirSync(dir, { recursive: true });
  return { dataDir, dir };
}

async function linesOf(lines: AsyncIterable<LogLine>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { line } of lines) found.push(line);
  return found;
}

/** Follows until the test is over; the received lines grow. */
function follow(
  t: { after(end: () => void): void },
  from: Parameters<typeof followLog>[0],
  last: number | null,
): { readonly received: LogLine[]; readonly stop: () => Promise<void> } {
  const over = new AbortController();
  const received: LogLine[] = [];
  const done = (async () => {
    for await (const line of followLog(from, last, systemClock, over.signal)) received.push(line);
  })();
  t.after(() => over.abort());
  return {
    received: received,
    stop: () => {
      over.abort();
      return done;
    },
  };
}

test('logs are listed newest first with the time of their start; a slot that never ran has none', async () => {
  const { dataDir, dir } = slotDir();
  for (const name of ['2026-01-02T03-04-05.678Z.log', '2026-02-01T00-00-00.000Z.log', 'history.json'])
    writeFileSync(join(dir, name), '');
  const logs = await startLogs(dataDir, 's');
  assert.deepEqual(
    logs.map((log) => log.startedAt),
    ['2026-02-01T00:00:00.000Z', '2026-01-02T03:04:05.678Z'],
  );
  assert.deepEqual(await startLogs(dataDir, 'unknown'), []);
});

test('a log is read whole or from its last lines, across the file rotation; a last line needs no newline', async () => {
  const { dir } = slotDir();
  const path = join(dir, '2026-01-01T00-00-00.000Z.log');
  // The change of files cuts a line, and a character of three bytes, in two.
  const text = Buffer.from('one\r\ntwo\n나루\nlast');
  const cut = text.indexOf(Buffer.from('나루')) + 4;
  writeFileSync(`${path}.1`, text.subarray(0, cut));
  writeFileSync(path, text.subarray(cut));
  const log = { startedAt: '', path };
  assert.deepEqual(await linesOf(readLog(log, null)), ['one', 'two', '나루', 'last']);
  assert.deepEqual(await linesOf(readLog(log, 2)), ['나루', 'last']);
  assert.deepEqual(await linesOf(readLog(log, 99)), ['one', 'two', '나루', 'last']);
});

test('the last lines of a long log are the last ones', async () => {
  const { dir } = slotDir();
  const path = join(dir, '2026-01-01T00-00-00.000Z.log');
  writeFileSync(path, Array.from({ length: 50_000 }, (_, n) => `line ${n}\n`).join(''));
  assert.deepEqual(await linesOf(readLog({ startedAt: '', path }, 2)), ['line 49998', 'line 49999']);
});

test('a followed log prints every line once and in order while the engine writes more than one file holds', async (t) => {
  const { dataDir, dir } = slotDir();
  const path = join(dir, '2026-01-01T00-00-00.000Z.log');
  const log = openEngineLog(path, (thrown) => assert.fail(String(thrown)));
  const { received, stop } = follow(t, { dataDir, slot: 's', log: null }, null);
  const total = 6_000;
  for (let n = 0; n < total; n += 1) {
    log.write(Buffer.from(`${n} ${'x'.repeat(1000)}\n`));
    // The pace at which a reader can follow two files; a faster engine loses lines to the limit of
    // L1, not to this.
    if (n % 400 === 399) await until(`line ${n}`, () => received.length > n - 200);
  }
  await until('every line', () => received.length === total, 20_000);
  await log.end();
  await stop();
  assert.deepEqual(
    received.map(({ line }) => Number.parseInt(line, 10)),
    Array.from({ length: total }, (_, n) => n),
  );
});

test('following a slot continues with its next start, also if there was none yet; following a start does not', async (t) => {
  const { dataDir, dir } = slotDir();
  const slot = follow(t, { dataDir, slot: 's', log: null }, null);
  const first = join(dir, '2026-01-01T00-00-00.000Z.log');
  writeFileSync(first, 'a1\nhalf');
  await until('the first start', () => slot.received.length === 1);
  const start = follow(t, { dataDir, slot: 's', log: { startedAt: 'first', path: first } }, 1);
  await until('the first start by itself', () => start.received.length === 1);
  appendFileSync(first, ' a line');
  writeFileSync(join(dir, '2026-01-02T00-00-00.000Z.log'), 'b1\n');
  await until('the second start', () => slot.received.length === 3);
  assert.deepEqual(
    slot.received.map(({ line, startedAt }) => [line, startedAt.slice(0, 10)]),
    [
      ['a1', '2026-01-01'],
      ['half a line', '2026-01-01'],
      ['b1', '2026-01-02'],
    ],
  );
  renameSync(first, `${first}.1`);
  writeFileSync(first, '!\n');
  await until('the start itself', () => start.received.length === 2);
  assert.equal(start.received[1]?.line, 'half a line!');
  await Promise.all([slot.stop(), start.stop()]);
});

test('the message of an engine that exits is the last line that tells an error, without a box around it', async () => {
  for (const [output, expected] of [
    ['', ''],
    ['loading\nexit\n\n', 'exit'],
    [
      '╭─ Error ───────╮\n│ No such option: --x │\n╰───────────────╯\nRun serve --help for more.\n',
      'No such option: --x',
    ],
    [
      `Error: No such option '--x'.\n${'  --other TEXT  A line of the help.\n'.repeat(80)}`,
      "Error: No such option '--x'.",
    ],
    ['ERROR: address already in use\nINFO: shutdown complete\n', 'ERROR: address already in use'],
  ] as const) {
    const log = openEngineLog(join(tempDir(), 'x.log'), (thrown) => assert.fail(String(thrown)));
    log.write(Buffer.from(output));
    assert.equal(log.lastError(), expected);
    await log.end();
  }
});
