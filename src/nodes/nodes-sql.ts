import { recordChange } from '../store/changes.ts';
import { isDuplicate } from '../store/connection.ts';
import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { maxClockSkewMs } from '../time/clock.ts';

const nodeColumns = {
  id: number('n.id'),
  address: column<string>('address'),
  startedAtMs: column<number>('started_at'),
  /** Time since it was last seen, by the database's clock. */
  silentMs: column<number>('(extract(epoch FROM now() - seen_at) * 1000)::float8'),
  /** It knows every node up to this id. */
  knows: number('knows'),
  /** The identity of its data directory, by which commands name a lost node. */
  home: column<string>('home'),
  /** The published edition that it serves; null: it reported none yet. */
  edition: nullable(number('edition')),
  /** How many prices its configuration states otherwise than that edition. */
  differences: column<number | null>('differences'),
};
const nodes = recordOf(nodeColumns);
const beats = recordOf({ ...nodeColumns, isOwn: column<boolean>('beat.id IS NOT NULL') });

const describedNodes = recordOf({
  ...nodeColumns,
  /** What runs there; null: it has not reported it yet. */
  hostname: column<string | null>('hostname'),
  version: column<string | null>('version'),
  /** The hash of its configuration (`hashOf`). */
  configuration: column<string | null>('configuration'),
});

/** A node as people see it. */
export type DescribedNode = RowOf<typeof describedNodes>;
/** What a node reports of itself when it changes. */
export type NodeDescription = {
  readonly [Name in 'hostname' | 'version' | 'configuration']: NonNullable<DescribedNode[Name]>;
};

/** A node as another node sees it. */
export type NodeRow = RowOf<typeof nodes>;

/** What a node reports of its prices. */
export type ReportedPrices = Pick<NodeRow, 'edition' | 'differences'>;

/**
 * A node that was not seen for this long is lost: its leases are no longer counted. A live node is
 * seen every second.
 */
export const nodeLostMs = 5_000;

/** SQL: whether the row `n` of gateway_node is a live node. */
export const nodeLives = `n.seen_at > now() - interval '${nodeLostMs} milliseconds'`;

/**
 * Whether a node that was silent for so long is alive. One that was seen in the future was seen
 * before the clock of the database went back; every live node repairs that within a second
 * (`beatAndList`).
 */
export function isLive({ silentMs }: Pick<NodeRow, 'silentMs'>): boolean {
  return silentMs > -maxClockSkewMs && silentMs < nodeLostMs;
}

const seenInFuture = `seen_at > clock_timestamp() + interval '${maxClockSkewMs} milliseconds'`;

/** A process that serves with the identity of a data directory. */
export interface NodeClaim {
  /** The identity of the data directory. */
  readonly home: string;
  /** Unique to this process. */
  readonly session: string;
  /** Where it runs; see `processMark` in nodes/. */
  readonly process: string;
  readonly address: string;
  /** Its journal may hold charges that the database does not have. */
  readonly keepsCharges: boolean;
}

const holders = recordOf({
  session: column<string>('session'),
  process: column<string>('process'),
  address: column<string>('address'),
  /** When it was last seen, by the database's clock: epoch milliseconds. */
  seenAtMs: column<number>('seen_at'),
  silentMs: column<number>('(extract(epoch FROM now() - seen_at) * 1000)::float8'),
});

/** The process that has the identity of a data directory. */
export type NodeHolder = RowOf<typeof holders>;

/** The result of a claim: the number of the new node, or the process that has the identity. */
export type ClaimOutcome =
  | { readonly kind: 'registered'; readonly id: number }
  | { readonly kind: 'taken'; readonly holder: NodeHolder };

/**
 * Registers a node and announces it, in the place of an earlier registration of the same session or
 * of one that `mayReplace`. Of two processes that claim one identity at the same time, one gets it.
 */
export async function claimHome(
  database: Transactions,
  claim: NodeClaim,
  mayReplace: (holder: NodeHolder) => boolean,
): Promise<ClaimOutcome> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await database.transaction((sql) => claimIn(sql, claim, mayReplace));
    } catch (error) {
      // Another process has claimed it since it was found free: the next attempt finds that
      // process.
      if (!isDuplicate(error) || tries === 3) throw error;
    }
  }
}

async function claimIn(
  sql: Sql,
  { home, session, process, address, keepsCharges }: NodeClaim,
  mayReplace: (holder: NodeHolder) => boolean,
): Promise<ClaimOutcome> {
  const holder = await readHolder(sql, home, true);
  if (holder !== null && holder.session !== session && !mayReplace(holder)) return { kind: 'taken', holder };
  if (holder !== null) await deleteHome(sql, home);
  const [row] = await sql.query<{ id: bigint }>(
    'INSERT INTO gateway_node (home, address, session, process, keeps_charges) VALUES ($1, $2, $3, $4, $5) RETURNING id',
    [home, address, session, process, keepsCharges],
  );
  if (row === undefined) throw new Error('INSERT INTO gateway_node returned no row');
  await recordChange(sql, 'node', Number(row.id));
  return { kind: 'registered', id: Number(row.id) };
}

/**
 * The process that has the identity of a data directory; null when none is registered with it. One
 * that was last seen in the future is seen now, as in `beatAndList`.
 * `forUpdate`: locked until the transaction ends.
 */
export async function readHolder(sql: Sql, home: string, forUpdate = false): Promise<NodeHolder | null> {
  await sql.query(
    `UPDATE gateway_node SET seen_at = clock_timestamp() WHERE home = $1::uuid AND ${seenInFuture}`,
    [home],
  );
  return holders.first(
    sql,
    `SELECT ${holders.columns} FROM gateway_node WHERE home = $1::uuid${forUpdate ? ' FOR UPDATE' : ''}`,
    [home],
  );
}

/**
 * Removes the node of a home. Its leases do not count from then on, and `removeLostNodes` drops them:
 * a server that is away with some of them must not keep a node from joining or leaving.
 */
function deleteHome(sql: Sql, home: string): Promise<readonly { readonly id: bigint }[]> {
  return sql.query<{ id: bigint }>('DELETE FROM gateway_node WHERE home = $1::uuid RETURNING id', [home]);
}

/**
 * Records that a node is alive and which others it knows; false when it is no longer registered.
 * Idempotent.
 */
export async function noteAlive(sql: Sql, nodeId: number, knows: number): Promise<boolean> {
  const rows = await sql.query(
    'UPDATE gateway_node SET seen_at = now(), knows = greatest(knows, $2) WHERE id = $1 RETURNING id',
    [nodeId, knows],
  );
  return rows.length > 0;
}

/** What a node reads when it shows that it is alive. */
export interface Beat {
  /** As `listNodes`, with the state of before. */
  readonly nodes: readonly NodeRow[];
  /** Whether the node is still registered. */
  readonly isListed: boolean;
}

/**
 * Records that a node is alive and what it reports, and lists all of them. A node that was last seen
 * in the future was seen before the clock of the database went back: it is seen now, and lost in
 * five seconds if it is gone.
 */
export async function beatAndList(
  sql: Sql,
  nodeId: number,
  { edition, differences }: ReportedPrices,
): Promise<Beat> {
  const rows = await beats.all(
    sql,
    `WITH beat AS (UPDATE gateway_node SET seen_at = clock_timestamp(),
         edition = CASE WHEN id = $1 THEN $2 ELSE edition END,
         differences = CASE WHEN id = $1 THEN $3 ELSE differences END
       WHERE id = $1 OR ${seenInFuture} RETURNING id)
     SELECT ${beats.columns} FROM gateway_node n LEFT JOIN beat ON beat.id = n.id AND beat.id = $1 ORDER BY n.id`,
    [nodeId, edition, differences],
  );
  return { nodes: rows.map(({ isOwn: _, ...node }) => node), isListed: rows.some((row) => row.isOwn) };
}

/** Records the address at which a node serves. */
export async function noteAddress(sql: Sql, nodeId: number, address: string): Promise<void> {
  await sql.query('UPDATE gateway_node SET address = $2 WHERE id = $1', [nodeId, address]);
}

/** Records what runs at a node. */
export async function describeNode(
  sql: Sql,
  nodeId: number,
  { hostname, version, configuration }: NodeDescription,
): Promise<void> {
  await sql.query('UPDATE gateway_node SET hostname = $2, version = $3, configuration = $4 WHERE id = $1', [
    nodeId,
    hostname,
    version,
    configuration,
  ]);
}

/** Every registered node, lost ones included, oldest first. */
export function listNodes(sql: Sql): Promise<readonly NodeRow[]> {
  return nodes.all(sql, `SELECT ${nodes.columns} FROM gateway_node n ORDER BY n.id`);
}

/** The same, and what runs there. */
export function listDescribedNodes(sql: Sql): Promise<readonly DescribedNode[]> {
  return describedNodes.all(sql, `SELECT ${describedNodes.columns} FROM gateway_node n ORDER BY n.id`);
}

/** Removes a node; see `deleteHome`. */
export function removeNode(database: Transactions, nodeId: number): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query('DELETE FROM gateway_node WHERE id = $1', [nodeId]);
    await recordChange(sql, 'node', nodeId);
  });
}

/**
 * Drops the leases of nodes that were lost so long ago. A lost node itself stays in the list for as
 * long as its journal may hold charges; the others are removed.
 */
export function removeLostNodes(database: Transactions, lostForMs: number): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query(
      "DELETE FROM gateway_node WHERE NOT keeps_charges AND seen_at <= now() - $1::float8 * interval '1 millisecond'",
      [lostForMs],
    );
    // The holders first: a node that registers after that has leases that are not looked at.
    const holders = await sql.query<{ node_id: bigint }>('SELECT DISTINCT node_id FROM spend_share');
    const live = await sql.query<{ id: bigint }>(
      "SELECT id FROM gateway_node WHERE seen_at > now() - $1::float8 * interval '1 millisecond'",
      [lostForMs],
    );
    const isLive = new Set(live.map(({ id }) => id));
    for (const { node_id: id } of holders)
      if (!isLive.has(id)) await sql.query('DELETE FROM spend_share WHERE node_id = $1', [id]);
  });
}

/** Removes the node of a home whose journal was settled. The caller has checked that it is dead. */
export function removeHome(database: Transactions, home: string): Promise<void> {
  return database.transaction(async (sql) => {
    for (const { id } of await deleteHome(sql, home)) await recordChange(sql, 'node', Number(id));
  });
}

/** How a lost node left the list. */
export interface NodeClosure {
  readonly home: string;
  readonly closure: 'recovered' | 'written off';
  readonly reason: string | null;
}

/** The result of closing a node: `unknown`, no such node; `alive`, its process is not dead. */
export type ClosureOutcome = 'closed' | 'unknown' | 'alive';

/** Removes a lost node from the list and records how and why. */
export function closeNode(
  database: Transactions,
  { home, closure, reason }: NodeClosure,
  isDead: (holder: NodeHolder) => boolean,
): Promise<ClosureOutcome> {
  return database.transaction(async (sql) => {
    const holder = await readHolder(sql, home, true);
    if (holder === null) return 'unknown';
    if (!isDead(holder)) return 'alive';
    await sql.query(
      `INSERT INTO closed_node (home, address, seen_at, closure, reason)
       SELECT home, address, seen_at, $2, $3 FROM gateway_node WHERE home = $1::uuid`,
      [home, closure, reason],
    );
    for (const { id } of await deleteHome(sql, home)) await recordChange(sql, 'node', Number(id));
    return 'closed';
  });
}

/** How many nodes are lost whose journal may hold charges. */
export async function countLostNodes(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ n: bigint }>(
    `SELECT count(*) AS n FROM gateway_node WHERE keeps_charges AND seen_at <= now() - interval '${nodeLostMs} milliseconds'`,
  );
  return Number(row?.n ?? 0n);
}
