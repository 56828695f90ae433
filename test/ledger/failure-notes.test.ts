import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FailureNotes } from '../../src/ledger/failure-notes.ts';
import { type Disk, systemDisk } from '../../src/ledger/journal/disk.ts';
import type { Journal, Ticket } from '../../src/ledger/journal/journal.ts';
import { decodeFinal, encodeFinal, finalType } from '../../src/ledger/journal-records.ts';
import { systemClock } from '../../src/time/clock.ts';
import { until } from '../harness/until.ts';
import { journalDir, openJournal } from './journal/journal-harness.ts';
import { openLedger } from './world.ts';

/*
 * The journal may have kept a settlement that it reported lost. Of two settlements of one request a
 * replay uses the later one.
 */

/** A disk that accepts writes and makes none of them durable while it is faulty. */
function illDisk(): { readonly disk: Disk; isIll: boolean } {
  const fail = (): Promise<never> => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' }));
  const ward: { disk: Disk; isIll: boolean } = {
    isIll: false,
    disk: {
      ...systemDisk,
      open: (path, flags) => (ward.isIll ? fail() : systemDisk.open(path, flags)),
      syncData: (fd) => (ward.isIll ? fail() : systemDisk.syncData(fd)),
    },
  };
  return ward;
}

/**
 * Appends until the journal accepts nothing any more; returns the tickets that it accepted and
 * reported lost.
 */
async function loseInto(journal: Journal, payload: string): Promise<Ticket[]> {
  const lost: Ticket[] = [];
  while (journal.stats().blocked === null)
    try {
      const ticket = journal.append(finalType, payload);
      await assert.rejects(journal.durable(ticket));
      lost.push(ticket);
    } catch {
      await new Promise(setImmediate);
    }
  return lost;
}

/**
 * What the finals in a journal amount to, as its next start reads them: the cost of the last one.
 */
async function replayed(t: TestContext, dir: string): Promise<bigint | undefined> {
  const { journal } = await openJournal(t, { dir });
  const finals = [...journal.replay()].filter(({ type }) => type === finalType);
  return finals.map(({ payload }) => decodeFinal(payload.toString())).at(-1)?.cost;
}

for (const written of ['at once', 'again after a rejection', 'at the end, when the disk works again'])
  test(`a failure note in place of a lost settlement is what replay uses, written ${written}`, async (t) => {
    const ledger = await openLedger(t);
    const dir = journalDir(t);
    const ward = illDisk();
    const { journal } = await openJournal(t, { dir, disk: ward.disk });
    const row = ledger.generation(60n);
    const failed = { ...row, cost: 0n };
    ward.isIll = true;
    const lost = await loseInto(journal, encodeFinal(row));
    assert.ok(lost.length > 0);
    const notes = new FailureNotes(journal, systemClock);
    const recover = async (): Promise<void> => {
      ward.isIll = false;
      await until('a write that succeeds', () => journal.stats().blocked === null);
    };
    if (written === 'at once') await recover();
    notes.add(failed, lost);
    if (written === 'again after a rejection') {
      await recover();
      notes.rewrite();
    }
    if (written.startsWith('at the end')) {
      const closing = notes.close();
      ward.isIll = false;
      await closing;
    }
    await journal.close();
    assert.equal(await replayed(t, dir), 0n);
  });
