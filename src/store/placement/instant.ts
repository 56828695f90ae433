import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { OperatorError } from '../../errors/operator-error.ts';
import { type Clock, systemClock } from '../../time/clock.ts';
import { connect, type DatabaseAddress, disconnect } from '../connection.ts';
import { begin, rollback, type Sql, sqlOver } from '../sql.ts';
import { connectToAll, readShardTables } from './shard-tables.ts';
import { freeze, showShards } from './shard-views.ts';

/** How long a moment without changes is looked for, and how often. */
const lookForMs = 120_000;
const lookEveryMs = 50;
/** How long changes are kept from beginning until the last one has ended at every server. */
const settleWithinMs = 500;
const lockNotAvailable = '55P03';

/** A read-only transaction at each server that has rows, of one instant. */
export interface Instant {
  /** At the address: it has what the accounts have in common, and all rows where it is the only one. */
  readonly own: Client;
  /** At the other servers: the tables of accounts have the rows of the server. */
  readonly others: readonly Client[];
  /** The tables of accounts that the others have in place of the first. */
  readonly tablesOfOthers: ReadonlySet<string>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens one instant of the database. Of several servers it is one of each: all rows of an account
 * are of one of them, and what the accounts have in common is of the same instant or a later one,
 * with no change under way.
 */
export async function openInstant(address: DatabaseAddress): Promise<Instant> {
  const own = await connect(address, null, false);
  const clients = [own];
  const close = async (): Promise<void> => {
    await Promise.all(clients.map(disconnect));
  };
  try {
    const servers = await readShardTables(sqlOver(own));
    const others = await connectToAll(address, servers);
    clients.push(...others);
    for (const [at, { shards }] of servers.entries()) await showShards(others[at] as Client, shards);
    if (servers.length === 0) await freeze(sqlOver(own));
    else await freezeCluster(address, clients.map(sqlOver));
    const tablesOfOthers = new Set(servers.flatMap(({ shards }) => [...(shards[0]?.tables.keys() ?? [])]));
    return { own, others, tablesOfOthers, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Begins a transaction on each of these sessions, the coordinator's first, that sees its server as it
 * is at one moment at which no transaction over several servers is half committed. Such ones change
 * what the accounts have in common, so that they wait for a moment; settlements and calls do not.
 * Throws an `OperatorError` when a commit stays half done for two minutes.
 */
async function freezeCluster(
  address: DatabaseAddress,
  sessions: readonly Sql[],
  clock: Clock = systemClock,
): Promise<void> {
  const client = await connect(address, null, false);
  const gate = sqlOver(client);
  const endMs = clock.monotonic() + lookForMs;
  try {
    const tables = await sharedTables(gate);
    for (;;) {
      await begin(gate);
      if ((await close(gate, tables)) && (await isSettled(sessions))) {
        // The coordinator has no records itself.
        await Promise.all(sessions.map((sql, at) => freeze(sql, at > 0)));
        return;
      }
      await rollback(gate);
      if (clock.monotonic() > endMs)
        throw new OperatorError(
          'changes over several servers have been under way for two minutes: try again',
        );
      await pause(lookEveryMs);
    }
  } finally {
    // What it locked is free again.
    await disconnect(client);
  }
}

/** The tables that no shard has: a transaction over several servers writes one of them. */
async function sharedTables(sql: Sql): Promise<string> {
  const tables = await sql.query<{ name: string }>(
    `SELECT quote_ident(c.relname) AS name FROM pg_class c LEFT JOIN pg_dist_partition d ON d.logicalrelid = c.oid
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
       AND coalesce(d.partmethod, 'n') = 'n' ORDER BY 1`,
  );
  return tables.map(({ name }) => name).join(', ');
}

/**
 * Keeps changes from these tables; false while one is under way. It does not wait for it: others
 * would wait behind, and the one could wait for another table that is closed already.
 */
async function close(gate: Sql, tables: string): Promise<boolean> {
  try {
    await gate.query(`LOCK TABLE ${tables} IN SHARE MODE NOWAIT`);
    return true;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === lockNotAvailable) return false;
    throw error;
  }
}

/** Whether no server has a transaction that is prepared and not committed. */
async function isSettled(sessions: readonly Sql[]): Promise<boolean> {
  for (let waitedMs = 0; waitedMs <= settleWithinMs; waitedMs += lookEveryMs) {
    const open = await Promise.all(
      sessions.map((sql) =>
        sql.query('SELECT 1 FROM pg_prepared_xacts WHERE database = current_database() LIMIT 1'),
      ),
    );
    if (open.every((rows) => rows.length === 0)) return true;
    await pause(lookEveryMs);
  }
  return false;
}
