/** Which settled segments are kept for a failover, and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defaultKeepSettledMs } from '../../../src/config/defaults.ts';
import { type Disk, systemDisk } from '../../../src/ledger/journal/disk.ts';
import type { Journal } from '../../../src/ledger/journal/journal.ts';
import { Retention } from '../../../src/ledger/segment-retention.ts';
import { testSeed } from '../../harness/tier.ts';
import { until } from '../../harness/until.ts';
import { files, journalDir, openJournal, smallSegment, texts } from './journal-harness.ts';

const looks = fc.array(
  fc.record({
    /** Commits since the last check, and whether a segment is settled with the last of them. */
    commits: fc.bigInt(0n, 5n),
    isSettled: fc.boolean(),
    /** How far behind each standby in sight is; null: it does not show. */
    lags: fc.array(fc.option(fc.bigInt(0n, 8n), { freq: 6 }), { maxLength: 3 }),
    elapsedMs: fc.nat(9_000),
  }),
  { minLength: 1, maxLength: 80 },
);

test('a segment stays until every standby has it or its time is over; it is removed at the next check', () => {
  const seen = { covered: 0, expired: 0, keptFor: 0 };
  fc.assert(
    fc.property(looks, fc.option(fc.nat(60_000)), (happenings, keepMs) => {
      const retention = new Retention({ keepMs });
      const limitMs = keepMs ?? defaultKeepSettledMs;
      const commitOf = new Map<number, { readonly position: bigint; readonly atMs: number }>();
      let kept: number[] = [];
      let position = 0n;
      let nowMs = 0;
      let most: { readonly count: number; readonly atMs: number }[] = [];
      for (const [number, { commits, isSettled, lags, elapsedMs }] of happenings.entries()) {
        position += commits;
        nowMs += Math.min(elapsedMs, 5_000);
        if (isSettled) {
          kept.push(number);
          commitOf.set(number, { position, atMs: nowMs });
        }
        const standbys = lags.map((lag) => (lag === null ? null : lag > position ? 0n : position - lag));
        most = [...most.filter(({ atMs }) => nowMs - atMs < limitMs), { count: lags.length, atMs: nowMs }];
        const { covered, expired } = retention.classify(
          kept,
          { history: 'h', position, standbys },
          elapsedMs,
        );
        const areAllInSight = most.every(({ count }) => count <= lags.length);
        for (const one of kept) {
          const { position: committed, atMs } = commitOf.get(one) ?? assert.fail();
          const hasIt = standbys.every((flushed) => flushed !== null && flushed >= committed);
          if (covered.has(one)) {
            seen.covered += 1;
            assert.ok(keepMs === 0 || hasIt, 'a standby lacks it');
            assert.ok(keepMs === 0 || areAllInSight, 'a standby that was there a moment ago may lack it');
            if (keepMs !== null && keepMs > 0)
              assert.ok(standbys.length > 0, 'no standby is known to have it');
          } else if (expired.has(one)) {
            seen.expired += 1;
            assert.ok(nowMs - atMs >= limitMs, 'its time is not over');
          } else {
            seen.keptFor += 1;
            assert.ok(nowMs - atMs < limitMs, 'it is kept for too long');
          }
        }
        kept = kept.filter((one) => !covered.has(one) && !expired.has(one));
      }
    }),
    { numRuns: 2_000, seed: testSeed },
  );
  assert.ok(Math.min(seen.covered, seen.expired, seen.keptFor) > 500, JSON.stringify(seen));
});

test('a segment that every standby has is removed at the second check at the latest, whenever it was settled', () => {
  const retention = new Retention({ keepMs: null });
  assert.deepEqual(
    [...retention.classify([1, 2], { history: 'h', position: 9n, standbys: [5n] }, 10).covered],
    [],
  );
  assert.deepEqual(
    [...retention.classify([1, 2, 3], { history: 'h', position: 12n, standbys: [9n] }, 10).covered],
    [1, 2],
  );
  assert.deepEqual(
    [...retention.classify([3], { history: 'h', position: 12n, standbys: [12n] }, 10).covered],
    [3],
  );
});

test('without a standby no segment is kept once one had time to appear, and the time does not count while the server is away', () => {
  const none = { history: 'h', position: 1n, standbys: [] };
  const retention = new Retention({ keepMs: null });
  assert.equal(retention.classify([1], none, 3_600_000).covered.size, 0);
  for (let look = 0; look < 5; look += 1) retention.classify([1], none, 5_000);
  assert.equal(retention.classify([1], none, 5_000).covered.size, 1);
  const configured = new Retention({ keepMs: 60_000 });
  assert.equal(configured.classify([1], none, 3_600_000).covered.size, 0);
  for (let look = 0; look < 11; look += 1)
    assert.equal(configured.classify([1], none, 5_000).covered.size, 0);
  assert.deepEqual([...configured.classify([1], none, 5_000).expired], [1]);
});

/**
 * Whether there is a segment beside the current one. Creating a segment takes longer than writing
 * these records.
 */
function hasSpare(journal: Journal): boolean {
  const { segments, blocked } = journal.stats();
  return blocked === null && segments - journal.kept.length >= 2;
}

/** Fills so many segments and releases all of their records. */
async function fill(journal: Journal, segments: number): Promise<void> {
  for (let n = 0; n < segments * 4; n += 1) {
    await until('a spare segment', () => hasSpare(journal));
    const ticket = journal.append(2, `${n} `.padEnd(5_000, 'x'));
    await journal.durable(ticket);
    journal.release(ticket);
  }
}

test('settled segments stay until they are removed, also over a close, and the next owner replays them', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, keepsSettled: true });
  await fill(journal, 3);
  const { kept } = journal;
  assert.ok(kept.length >= 3);
  assert.equal(journal.stats().keptBytes, kept.length * smallSegment);
  await journal.forget(kept.slice(1, 2));
  assert.deepEqual(journal.kept, [...kept.slice(0, 1), ...kept.slice(2)]);
  await journal.close();
  const left = journal.kept;
  assert.equal(files(dir).length, left.length);
  const next = await openJournal(t, { dir, keepsSettled: true });
  const records = [...next.journal.replay()];
  assert.ok(records.length > 6);
  assert.match(texts(records)[0] ?? '', /^0 /);
  for (const { ticket } of records) next.journal.release(ticket);
  assert.deepEqual(next.journal.kept, left, 'they are settled again, and kept again');
  await next.journal.close();
  await next.journal.forget(next.journal.kept);
  assert.deepEqual(files(dir), []);
});

test('segments kept beyond the bound are removed oldest first, up to a segment with a live record', async (t) => {
  const { journal, events } = await openJournal(t, { dir: journalDir(t), keepsSettled: true });
  await fill(journal, 2);
  const live = journal.append(2, 'x'.repeat(5_000));
  await fill(journal, 3);
  const { kept } = journal;
  const older = kept.filter((number) => number < live);
  assert.ok(older.length > 0 && older.length < kept.length);
  await journal.expire(new Set(kept));
  assert.deepEqual(journal.kept, kept.slice(older.length));
  assert.deepEqual(
    events,
    older.map((segment) => ({ kind: 'uncovered', segment, reason: 'expired' })),
  );
  journal.release(live);
  await journal.expire(new Set(journal.kept));
  assert.deepEqual(journal.kept, []);
});

test('kept segments are removed for new records: above their bound, at the size of the journal, and on a full disk', async (t) => {
  const bounded = await openJournal(t, {
    dir: journalDir(t),
    keepsSettled: true,
    maxKeptBytes: 3 * smallSegment,
  });
  await fill(bounded.journal, 8);
  assert.equal(bounded.journal.kept.length, 3);
  assert.ok(bounded.events.length >= 4);
  assert.ok(bounded.events.every((event) => event.kind === 'uncovered' && event.reason === 'space'));

  const small = await openJournal(t, {
    dir: `${journalDir(t)}-small`,
    keepsSettled: true,
    maxBytes: 5 * smallSegment,
  });
  await fill(small.journal, 10);
  assert.ok(small.journal.stats().bytes <= 5 * smallSegment);
  assert.equal(small.journal.stats().blocked, null);

  let free = 6;
  const dir = `${journalDir(t)}-full`;
  const disk: Disk = {
    ...systemDisk,
    open(path, flags) {
      if (flags === 'r') return systemDisk.open(path, flags);
      if (free === 0) return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
      free -= 1;
      return systemDisk.open(path, flags);
    },
    async remove(path) {
      await systemDisk.remove(path);
      if (path.endsWith('.journal')) free += 1;
    },
  };
  const full = await openJournal(t, { dir, keepsSettled: true, disk });
  await fill(full.journal, 10);
  assert.ok(full.events.some((event) => event.kind === 'uncovered'));
});
