import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { JournalEvent } from '../../../src/ledger/journal/errors.ts';
import { Journal, type JournalOptions, type ReplayedRecord } from '../../../src/ledger/journal/journal.ts';
import { type Clock, systemClock } from '../../../src/time/clock.ts';

const opened = new WeakMap<TestContext, Journal[]>();

/**
 * A directory for one test's journals, inside one that is removed when the test ends, after they
 * are closed.
 */
export function journalDir(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'naru-journal-'));
  opened.set(t, []);
  t.after(async () => {
    for (const journal of opened.get(t) ?? []) await journal.close().catch(() => {});
    rmSync(root, { recursive: true, force: true });
  });
  return join(root, 'journal');
}

/** Small segments, so that a test fills them: 16 KiB of records each. */
export const smallSegment = 24 * 1024;

/**
 * An open journal and what it reported; closed when the test ends, if it was not before; `dir` is
 * of `journalDir`.
 */
export async function openJournal(
  t: TestContext,
  options: Partial<JournalOptions> & { readonly dir: string },
): Promise<{ readonly journal: Journal; readonly events: JournalEvent[] }> {
  const events: JournalEvent[] = [];
  const defaults = {
    clock: systemClock,
    segmentBytes: smallSegment,
    report: (event: JournalEvent) => events.push(event),
  };
  const journal = await Journal.open({ ...defaults, ...options });
  opened.get(t)?.push(journal);
  return { journal, events };
}

/** What is replayed, as text. */
export function texts(records: Iterable<Pick<ReplayedRecord, 'payload'>>): string[] {
  return [...records].map((record) => record.payload.toString());
}

/** The journal's files, sorted. */
export function files(dir: string): string[] {
  return readdirSync(dir).sort();
}

/** A clock whose tasks run on request. */
export function manualClock(): Clock & { readonly runDue: () => void } {
  let tasks: (() => void)[] = [];
  return {
    now: () => 0,
    monotonic: () => 0,
    after(_delayMs, task) {
      tasks.push(task);
      return {
        cancel() {
          tasks = tasks.filter((other) => other !== task);
        },
      };
    },
    runDue() {
      const due = tasks;
      tasks = [];
      for (const task of due) task();
    },
  };
}

/**
 * Replaces the descriptor with which this process has `file` open by `path`, opened read-only: from
 * now on the kernel rejects writes.
 */
export function sabotage(file: string, path: string): void {
  const { ino, dev } = statSync(file);
  for (let fd = 3; fd < 1024; fd++) {
    try {
      const stat = fstatSync(fd);
      if (stat.ino !== ino || stat.dev !== dev) continue;
    } catch {
      continue;
    }
    closeSync(fd);
    const others: number[] = [];
    let opened = openSync(path, path === '/dev/null' ? 'r+' : 'r');
    while (opened !== fd) {
      others.push(opened);
      opened = openSync(path, path === '/dev/null' ? 'r+' : 'r');
    }
    for (const other of others) closeSync(other);
    return;
  }
  throw new Error(`${file} is not open`);
}
