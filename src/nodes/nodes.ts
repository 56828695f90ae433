import type { Database } from '../store/database.ts';
import type { Transactions } from '../store/sql.ts';
import { type Clock, pause } from '../time/clock.ts';
import { isHolderDead } from './node-identity.ts';
import {
  type ClosureOutcome,
  closeNode,
  type DescribedNode,
  isLive,
  listDescribedNodes,
} from './nodes-sql.ts';
import { systemProcessMarks } from './process-mark.ts';

/** Every registered node, oldest first, and whether it is alive. */
export async function readNodes(
  database: Database,
): Promise<readonly (DescribedNode & { readonly lives: boolean })[]> {
  return (await listDescribedNodes(database)).map((node) => ({ ...node, lives: isLive(node) }));
}

/** How long a publication waits for nodes: a live one takes an edition within a second. */
const takenWithinMs = 10_000;
const lookEveryMs = 50;

/**
 * Waits until every node that is live now serves an edition, or has left. Returns those that do not,
 * and those that do while their configuration differs from it.
 */
export async function untilTaken(
  database: Database,
  clock: Clock,
  edition: number,
): Promise<{ readonly late: readonly DescribedNode[]; readonly differing: readonly DescribedNode[] }> {
  const endMs = clock.monotonic() + takenWithinMs;
  const homes = new Set((await readNodes(database)).filter(({ lives }) => lives).map(({ home }) => home));
  for (;;) {
    const nodes = (await readNodes(database)).filter(({ home }) => homes.has(home));
    const late = nodes.filter((node) => (node.edition ?? 0) < edition);
    if (late.every(({ lives }) => !lives) || clock.monotonic() >= endMs) {
      const differing = nodes.filter((node) => !late.includes(node) && (node.differences ?? 0) > 0);
      return { late, differing };
    }
    await pause(clock, lookEveryMs, new AbortController().signal);
  }
}

/**
 * Removes a lost node from the list although its journal was not settled, with a reason that is
 * kept.
 */
export function writeOffNode(
  database: Transactions,
  { home, reason }: { readonly home: string; readonly reason: string },
): Promise<ClosureOutcome> {
  const marks = systemProcessMarks();
  return closeNode(database, { home, closure: 'written off', reason }, (holder) =>
    isHolderDead(holder, marks),
  );
}
