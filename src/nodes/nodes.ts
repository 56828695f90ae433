import type { Database } from '../store/database.ts';
import { type ClosureOutcome, closeNode, listNodes, type NodeRow, nodeLostMs } from './nodes-sql.ts';

/** Every node that is registered, oldest first, and whether it lives. */
export async function readNodes(
  database: Database,
): Promise<readonly (NodeRow & { readonly lives: boolean })[]> {
  return (await listNodes(database)).map((node) => ({ ...node, lives: node.silentMs < nodeLostMs }));
}

/** Takes a lost node out of the list although its journal was not settled, for a reason that is kept. */
export function writeOffNode(
  database: Database,
  { home, reason }: { readonly home: string; readonly reason: string },
): Promise<ClosureOutcome> {
  return closeNode(database, { home, closure: 'written off', reason });
}
