import { recordChange } from './changes.ts';
import type { Database } from './database.ts';
import type { Sql } from './sql.ts';

/** A node as another node sees it. */
export interface NodeRow {
  readonly id: number;
  readonly address: string;
  readonly startedAtMs: number;
  /** How long ago it was last seen, by the database's clock. */
  readonly silentMs: number;
  /** It reckons with every node up to this id. */
  readonly knows: number;
}

interface RawNode {
  id: bigint;
  address: string;
  started_at: number;
  silent_ms: number;
  knows: bigint;
}

/** A node that was not seen for this long is dead: its shares are no longer counted. A node that lives is seen twice a second. */
export const nodeLostMs = 5_000;

/** SQL: whether the row `n` of gateway_node is a node that lives. */
export const nodeLives = `n.seen_at > now() - interval '${nodeLostMs} milliseconds'`;

/**
 * Registers a node and announces it; returns its id. What an earlier process of the same home left is removed: the data
 * directory's lock proves that it is dead.
 */
export function registerNode(
  database: Database,
  node: { readonly home: string; readonly address: string },
): Promise<number> {
  return database.transaction(async (sql) => {
    await sql.query(
      'DELETE FROM spend_share WHERE node_id IN (SELECT id FROM gateway_node WHERE home = $1::uuid)',
      [node.home],
    );
    await sql.query('DELETE FROM gateway_node WHERE home = $1::uuid', [node.home]);
    const [row] = await sql.query<{ id: bigint }>(
      'INSERT INTO gateway_node (home, address) VALUES ($1, $2) RETURNING id',
      [node.home, node.address],
    );
    if (row === undefined) throw new Error('INSERT INTO gateway_node returned no row');
    await recordChange(sql, 'node', Number(row.id));
    return Number(row.id);
  });
}

/** Says that a node lives and which others it reckons with; false when it is registered no more. Said twice it is as true. */
export async function noteAlive(sql: Sql, nodeId: number, knows: number): Promise<boolean> {
  const rows = await sql.query(
    'UPDATE gateway_node SET seen_at = now(), knows = greatest(knows, $2) WHERE id = $1 RETURNING id',
    [nodeId, knows],
  );
  return rows.length > 0;
}

/** Says where a node serves, once it does. */
export async function noteAddress(sql: Sql, nodeId: number, address: string): Promise<void> {
  await sql.query('UPDATE gateway_node SET address = $2 WHERE id = $1', [nodeId, address]);
}

/** Every node that is registered, dead ones included, oldest first. */
export async function listNodes(sql: Sql): Promise<readonly NodeRow[]> {
  const rows = await sql.query<RawNode>(
    `SELECT id, address, started_at, (extract(epoch FROM now() - seen_at) * 1000)::float8 AS silent_ms, knows
     FROM gateway_node ORDER BY id`,
  );
  return rows.map((row) => ({
    id: Number(row.id),
    address: row.address,
    startedAtMs: row.started_at,
    silentMs: row.silent_ms,
    knows: Number(row.knows),
  }));
}

/** Takes a node out, and its shares. */
export function removeNode(database: Database, nodeId: number): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query('DELETE FROM spend_share WHERE node_id = $1', [nodeId]);
    await sql.query('DELETE FROM gateway_node WHERE id = $1', [nodeId]);
    await recordChange(sql, 'node', nodeId);
  });
}

/** Takes out the nodes that died so long ago that nobody waits for their return, and what they held. */
export function removeLostNodes(database: Database, lostForMs: number): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query(
      `DELETE FROM spend_share s WHERE NOT EXISTS (
         SELECT 1 FROM gateway_node n WHERE n.id = s.node_id AND n.seen_at > now() - $1::float8 * interval '1 millisecond')`,
      [lostForMs],
    );
    await sql.query(
      "DELETE FROM gateway_node WHERE seen_at <= now() - $1::float8 * interval '1 millisecond'",
      [lostForMs],
    );
  });
}

/** Takes out the node of a home that nobody will start in again, and its shares. The caller holds the home. */
export function removeHome(database: Database, home: string): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query(
      'DELETE FROM spend_share WHERE node_id IN (SELECT id FROM gateway_node WHERE home = $1::uuid)',
      [home],
    );
    const gone = await sql.query<{ id: bigint }>(
      'DELETE FROM gateway_node WHERE home = $1::uuid RETURNING id',
      [home],
    );
    for (const { id } of gone) await recordChange(sql, 'node', Number(id));
  });
}
