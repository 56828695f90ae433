import type { Database } from '../store/database.ts';
import type { Transactions } from '../store/sql.ts';
import { isHolderDead } from './node-identity.ts';
import { type ClosureOutcome, closeNode, isLive, listNodes, type NodeRow } from './nodes-sql.ts';
import { systemProcessMarks } from './process-mark.ts';

/** Every registered node, oldest first, and whether it is alive. */
export async function readNodes(
  database: Database,
): Promise<readonly (NodeRow & { readonly lives: boolean })[]> {
  return (await listNodes(database)).map((node) => ({ ...node, lives: isLive(node) }));
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
