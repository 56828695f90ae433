import type { Database } from '../store/database.ts';
import { listNodes, type NodeRow, nodeLostMs } from '../store/gateway-nodes.ts';

/** Every node that is registered, oldest first, and whether it lives. */
export async function readNodes(
  database: Database,
): Promise<readonly (NodeRow & { readonly lives: boolean })[]> {
  return (await listNodes(database)).map((node) => ({ ...node, lives: node.silentMs < nodeLostMs }));
}
