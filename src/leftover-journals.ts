import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { reportJournal } from './books.ts';
import { Settlements } from './ledger/settlements.ts';
import type { Log } from './log/log.ts';
import { nodeHome } from './nodes/node-home.ts';
import type { Database } from './store/database.ts';
import { removeHome } from './store/gateway-nodes.ts';
import { Journal } from './store/journal/journal.ts';
import { systemClock } from './time/clock.ts';
import { holdHome } from './worker-home.ts';

/** What settling a journal takes. */
export interface LeftoverParts {
  readonly database: Database;
  readonly ack: 'journal' | 'database';
  readonly log: Log;
}

/** The homes of workers in a data directory, of this start or of an earlier one, by number. */
export function workerHomes(dataDir: string): readonly string[] {
  const folder = join(dataDir, 'workers');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^[1-9]\d*$/.test(name))
    .sort((a, b) => Number(a) - Number(b))
    .map((name) => join(folder, name));
}

/**
 * Settles what a process that is gone left in the journal of its home, as its next start would do it. The caller holds the home.
 * What the database refuses stays in the journal and is told to `log.error`.
 */
export async function settleJournalOf(
  home: string,
  { database, ack, log }: LeftoverParts,
): Promise<{ readonly finals: number; readonly orphans: number }> {
  const dir = join(home, 'journal');
  if (!existsSync(dir)) return { finals: 0, orphans: 0 };
  const journal = await Journal.open({
    dir,
    clock: systemClock,
    report: (event) => reportJournal(log, event),
  });
  const settlements = new Settlements({
    database,
    journal,
    ack,
    clock: systemClock,
    log,
    spendingNode: () => null,
    onCommitted: () => {},
    onQuarantined: () => {},
  });
  try {
    return await settlements.recover();
  } finally {
    await settlements.close();
  }
}

/**
 * Settles the journals of processes that this start has no successor for (fewer workers than the last one, or none), before
 * anything is served, and takes them out of the list of nodes.
 */
export async function settleLeftHomes(
  homes: readonly { readonly dir: string; readonly isHeld: boolean }[],
  parts: LeftoverParts,
): Promise<void> {
  for (const { dir, isHeld } of homes) {
    const lock = isHeld ? null : await holdHome(dir);
    try {
      const recovered = await settleJournalOf(dir, parts);
      if (recovered.finals + recovered.orphans > 0) parts.log.info('recovered', { home: dir, ...recovered });
      if (existsSync(join(dir, 'node-id'))) await removeHome(parts.database, nodeHome(dir));
    } finally {
      lock?.release();
    }
  }
}
