import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type JournalEvent, JournalUnavailable } from '../../../src/ledger/journal/errors.ts';
import type { Ticket } from '../../../src/ledger/journal/journal.ts';
import { FINAL } from '../../../src/ledger/journal/record.ts';
import { until } from '../../harness/until.ts';
import {
  files,
  journalDir,
  manualClock,
  openJournal,
  sabotage,
  smallSegment,
  texts,
} from './journal-harness.ts';

const failed = (code: string) => (error: unknown) => {
  assert.ok(error instanceof JournalUnavailable);
  assert.equal(error.reason, 'failed');
  assert.equal((error.cause as NodeJS.ErrnoException).code, code);
  return true;
};

interface Obstacle {
  readonly code: string;
  readonly raise: (dir: string) => void;
  readonly lift: (dir: string) => void;
}

/**
 * Appends records under the obstacle one by one until none is accepted any more, then removes it.
 */
async function refusesAndRecovers(t: TestContext, { code, raise, lift }: Obstacle): Promise<JournalEvent[]> {
  const dir = journalDir(t);
  const clock = manualClock();
  const { journal, events } = await openJournal(t, { dir, clock });
  const [acknowledged, rejected]: [string[], string[]] = [[], []];
  const record = (): string => `${acknowledged.length + rejected.length}`.padStart(500, '.');
  const limit = performance.now() + 10_000;
  let refused = false;
  raise(dir);
  try {
    while (!refused && performance.now() < limit) {
      const text = record();
      let ticket: Ticket;
      try {
        ticket = journal.append(FINAL, text);
      } catch (error) {
        failed(code)(error);
        refused = journal.stats().blocked === 'failed';
        await new Promise(setImmediate);
        continue;
      }
      const error = await journal.durable(ticket).catch((reason: unknown) => reason);
      if (error === undefined) acknowledged.push(text);
      else if (failed(code)(error)) rejected.push(text);
    }
    assert.ok(
      refused && acknowledged.length >= 8,
      `${acknowledged.length} before it was refused: ${refused}`,
    );
    clock.runDue();
    assert.throws(() => journal.append(FINAL, record()), failed(code), 'a new attempt is not yet a success');
  } finally {
    lift(dir);
  }
  await until('a write that succeeds', () => {
    clock.runDue();
    return journal.stats().blocked === null;
  });
  acknowledged.push('after the obstacle');
  await journal.durable(journal.append(FINAL, 'after the obstacle'));
  await journal.close();
  const again = await openJournal(t, { dir });
  const found = texts(again.journal.replay());
  assert.deepEqual(
    found.filter((text) => !rejected.includes(text)),
    acknowledged,
  );
  assert.equal(new Set(found).size, found.length);
  assert.ok(again.events.every((event) => event.kind === 'torn'));
  assert.equal(events.filter((event) => event.kind === 'lost').length, rejected.length);
  return events.filter((event) => event.kind !== 'lost');
}

test('if no segment can be created, the current one is filled, records are rejected, and it recovers without help', async (t) => {
  const events = await refusesAndRecovers(t, {
    code: 'ENOENT',
    raise: (dir) => renameSync(dir, `${dir}.away`),
    lift: (dir) => renameSync(`${dir}.away`, dir),
  });
  assert.deepEqual(
    events.map((event) => event.kind),
    ['blocked', 'unblocked'],
  );
});

if (process.platform === 'linux') {
  const limitFiles = (bytes: number | 'unlimited'): void => {
    const run = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], {
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, `prlimit of util-linux: ${run.error ?? run.stderr}`);
  };
  test('a short write rejects its record, loses no acknowledged one, and recovers without help', async (t) => {
    const events = await refusesAndRecovers(t, {
      code: 'EFBIG',
      raise: () => limitFiles(smallSegment / 2),
      lift: () => limitFiles('unlimited'),
    });
    assert.deepEqual(
      events.map((event) => event.kind),
      ['blocked', 'unblocked'],
    );
  });
}

test('a full disk at the start rejects records, but not the replay of old ones', async (t) => {
  const dir = journalDir(t);
  const first = await openJournal(t, { dir });
  first.journal.append(FINAL, 'old');
  await first.journal.close();
  const script = `
    const { Journal } = await import(${JSON.stringify(new URL('../../../src/ledger/journal/journal.ts', import.meta.url).href)});
    const { systemClock: clock } = await import(${JSON.stringify(new URL('../../../src/time/clock.ts', import.meta.url).href)});
    const journal = await Journal.open({ dir: ${JSON.stringify(dir)}, clock, segmentBytes: 1024 * 1024 });
    try { journal.append(2, 'new') } catch (error) { console.log(error.name, error.reason, error.cause.code) }
    for (const record of journal.replay()) console.log(record.payload.toString());
    await journal.close();`;
  const command = `ulimit -S -f 64 && exec "$0" --input-type=module -e "$1"`;
  const run = spawnSync('/bin/sh', ['-c', command, process.execPath, script], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  assert.equal(run.stdout, 'JournalUnavailable failed EFBIG\nold\n', run.stderr);
  assert.deepEqual(files(dir), ['0000000001.journal'], 'half a segment is not left behind');
});

/**
 * A journal with one acknowledged record, whose current segment the kernel then rejects in the way
 * of `path`.
 */
async function sabotaged(t: TestContext, path: (dir: string) => string) {
  const dir = journalDir(t);
  const opened = await openJournal(t, { dir });
  const kept = opened.journal.append(FINAL, 'acknowledged');
  await opened.journal.durable(kept);
  sabotage(join(dir, '0000000001.journal'), path(dir));
  return { dir, kept, ...opened };
}

async function movesOn(t: TestContext, path: (dir: string) => string, code: string): Promise<void> {
  const { dir, kept, journal, events } = await sabotaged(t, path);
  const lost: Ticket[] = ['rejected', 'too'].map((text) => journal.append(FINAL, text));
  const never = journal.append(FINAL, 'not awaited yet');
  for (const wait of lost.map((ticket) => journal.durable(ticket))) await assert.rejects(wait, failed(code));
  await assert.rejects(journal.durable(never), failed(code), 'awaiting it late fails too');
  await assert.rejects(journal.durable(kept), failed(code), 'a failed segment is not reported again');

  const next = journal.append(FINAL, 'in the next segment');
  await journal.durable(next);
  assert.notEqual(next, kept);
  assert.ok(!readFileSync(join(dir, '0000000001.journal')).includes('in the next segment'));
  assert.deepEqual(
    events.map((event) => event.kind),
    ['lost'],
  );
  await journal.close();

  const again = await openJournal(t, { dir });
  assert.deepEqual(texts(again.journal.replay()), ['acknowledged', 'in the next segment']);
}

test('a failed write rejects its records, and the journal continues in another segment', (t) =>
  movesOn(t, (dir) => join(dir, '0000000001.journal'), 'EBADF'));

test('after a failed fdatasync the same file is never used again', (t) =>
  movesOn(t, () => '/dev/null', 'EINVAL'));

test('a write that fails as a segment fills rejects its own records, not the one that found it full', async (t) => {
  const { dir, journal } = await sabotaged(t, (dir) => join(dir, '0000000001.journal'));
  const before = journal.append(FINAL, 'x'.repeat(9000));
  const after = journal.append(FINAL, 'y'.repeat(9000));
  await assert.rejects(journal.durable(before), failed('EBADF'));
  await journal.durable(after);
  await journal.close();
  const again = await openJournal(t, { dir });
  assert.deepEqual(texts(again.journal.replay()), ['acknowledged', 'y'.repeat(9000)]);
});

test('a failed segment is removed when its rejected records are released', async (t) => {
  const { dir, kept, journal } = await sabotaged(t, () => '/dev/null');
  const ticket = journal.append(FINAL, 'rejected');
  await assert.rejects(journal.durable(ticket));
  journal.release(ticket);
  journal.release(kept);
  await until('the removal of the segment', () => !files(dir).includes('0000000001.journal'));
});

test('close reports when the last records could not be made durable', async (t) => {
  const { journal } = await sabotaged(t, () => '/dev/null');
  journal.append(FINAL, 'last');
  await assert.rejects(journal.close(), failed('EINVAL'));
});

test('without sync, durable is not true: the negative control of power loss', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, sync: false });
  await until('the first segment', () => files(dir).includes('0000000001.journal'));
  sabotage(join(dir, '0000000001.journal'), '/dev/null');
  await journal.durable(journal.append(FINAL, 'gone'));
});
