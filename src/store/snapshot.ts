import type { Client } from 'pg';
import { connect, type DatabaseAddress, disconnect } from './connection.ts';
import { CopyOut, copyIn } from './copy.ts';
import { openInstant } from './placement/instant.ts';
import { type SequenceBehind, sequencesBehind } from './schema-sql.ts';
import { sqlOver } from './sql.ts';

/** The contents of a copy of the database, beside the rows. */
export interface SnapshotPlan {
  /** The applied steps of the schema, by name and checksum. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  /**
   * The tables, partitioned ones as a whole, with their columns in order; `isSeeded`: with a row from
   * the start.
   */
  readonly tables: readonly {
    readonly name: string;
    readonly columns: readonly string[];
    readonly isSeeded: boolean;
  }[];
  /** The partitions that the schema does not create. */
  readonly partitions: readonly { readonly name: string; readonly of: string; readonly bound: string }[];
}

/** The state of the sequence of a column. */
export interface SequenceState {
  readonly table: string;
  readonly column: string;
  /** The last id that was used, as text; null: none was. */
  readonly last: string | null;
}

/** One instant of the database, open until `close` (see `openInstant`). */
export interface Snapshot {
  readonly plan: SnapshotPlan;
  /** What is read at the same time: the servers that have rows. */
  readonly readers: readonly SnapshotReader[];
  /** Read after the rows, so that no id in them is used again. */
  sequences(): Promise<readonly SequenceState[]>;
  /** What the database occupies on the disks of its servers. */
  databaseBytes(): Promise<number>;
  /** Closes the connections, also in the middle of a table. */
  close(): Promise<void>;
}

/** The tables that one server has. */
export interface SnapshotReader {
  readonly tables: readonly {
    readonly name: string;
    readonly columns: readonly string[];
    /** Which of the parts of a table that several servers have; counted from 1. */
    readonly part: number | undefined;
  }[];
  /** The rows of a table in PostgreSQL's text format. Read it to the end before the next call. */
  rowsOf(table: string): CopyOut;
}

const plainName = /^[a-z_][a-z0-9_]{0,62}$/;
const monthBound = /^FOR VALUES FROM \('[0-9a-f-]{36}'\) TO \('[0-9a-f-]{36}'\)$/;
/** The schema's own table, which the target has already. */
const ownTable = 'schema_migration';
/*
 * Two comments on tables in the schema are read here. Of tables that no copy contains: a restored
 * database has no signed-in browser, no valid link and no half-done sign-in (docs/decisions/identity.md),
 * and has made no backups of its own. And of tables that have a row from the start.
 */
const inNoBackup = 'in no backup';
const hasFirstRow = 'has a row from the start';

/** Opens a snapshot: later commits are not in it. */
export async function openSnapshot(address: DatabaseAddress): Promise<Snapshot> {
  const { own, others, tablesOfOthers, close } = await openInstant(address);
  try {
    const plan = await planOf(own);
    const isOfOthers = ({ name }: { readonly name: string }): boolean => tablesOfOthers.has(name);
    return {
      plan,
      readers: [
        readerOf(
          own,
          plan.tables.filter((table) => !isOfOthers(table)),
          undefined,
        ),
        ...others.map((one, at) => readerOf(one, plan.tables.filter(isOfOthers), at + 1)),
      ],
      sequences: () => sequencesOf(own),
      async databaseBytes() {
        // The server of the address may be among the others.
        const servers = [own, ...others.filter((one) => !isSameServer(one, own))];
        const sizes = await Promise.all(
          servers.map((one) =>
            one.query<{ bytes: string }>('SELECT pg_database_size(current_database())::text AS bytes'),
          ),
        );
        return sizes.reduce((sum, { rows }) => sum + Number(rows[0]?.bytes ?? 0), 0);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function isSameServer(one: Client, other: Client): boolean {
  return one.host === other.host && one.port === other.port;
}

function readerOf(client: Client, tables: SnapshotPlan['tables'], part: number | undefined): SnapshotReader {
  return {
    tables: tables.map((table) => ({ ...table, part })),
    rowsOf(table) {
      const columns = tables.find((one) => one.name === table)?.columns ?? [];
      return new CopyOut(client, `COPY (SELECT ${columns.join(', ')} FROM ${table}) TO STDOUT`);
    },
  };
}

/**
 * Whether a partition that a file names is one of our tables, and its text contains nothing else.
 */
export function isPartition(
  { name, of, bound }: SnapshotPlan['partitions'][number],
  { tables }: Pick<SnapshotPlan, 'tables'>,
): boolean {
  return plainName.test(name) && tables.some((table) => table.name === of) && monthBound.test(bound);
}

/**
 * The target of a copy: everything in one transaction, so that a restore that is killed leaves
 * nothing.
 */
export interface Target {
  readonly plan: SnapshotPlan;
  sequences(): Promise<readonly SequenceState[]>;
  /** The first table that has rows already; null when there is none. */
  occupied(): Promise<string | null>;
  /** Empties the seeded tables and makes partitions; no other process can write from here on. */
  prepare(partitions: SnapshotPlan['partitions']): Promise<void>;
  /** Stores the rows of a table; returns their number. */
  take(table: string, columns: readonly string[], rows: AsyncIterable<Buffer>): Promise<number>;
  setSequences(sequences: readonly SequenceState[]): Promise<void>;
  /**
   * Gives the copy an identity of its own, and removes the nodes that had flushed everything before
   * the backup: they serve from the original.
   */
  leaveOriginal(): Promise<void>;
  /** The first sequence that would use again a number that a row has; null when there is none. */
  behindRows(): Promise<SequenceBehind | null>;
  commit(): Promise<void>;
  /** Closes the connection; what was not committed is rolled back. */
  close(): Promise<void>;
}

/**
 * Opens the database for a restore. Names that are not in our schema are refused: they come from a
 * file.
 */
export async function openTarget(address: DatabaseAddress): Promise<Target> {
  const client = await connect(address, null, false);
  try {
    await client.query('BEGIN');
    const plan = await planOf(client);
    const tables = plan.tables.map(({ name }) => name);
    return {
      plan,
      async occupied() {
        for (const { name } of plan.tables.filter(({ isSeeded }) => !isSeeded)) {
          const { rows } = await client.query(`SELECT 1 FROM ${name} LIMIT 1`);
          if (rows.length > 0) return name;
        }
        return null;
      },
      async prepare(partitions) {
        await client.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
        for (const { name, isSeeded } of plan.tables) if (isSeeded) await client.query(`DELETE FROM ${name}`);
        for (const { name, of, bound } of partitions) {
          if (!isPartition({ name, of, bound }, plan)) throw new Error(`${name} is no partition of ours`);
          await client.query(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${of} ${bound}`);
        }
      },
      sequences: () => sequencesOf(client),
      take: (table, columns, rows) =>
        copyIn(client, `COPY ${table} (${columns.join(', ')}) FROM STDIN`, rows),
      async setSequences(sequences) {
        for (const { table, column, last } of sequences) {
          if (last === null) continue;
          const sequence = 'pg_get_serial_sequence($1, $2)::regclass';
          await client.query(`SELECT setval(${sequence}, $3::bigint)`, [table, column, last]);
        }
      },
      async leaveOriginal() {
        await client.query('UPDATE database_identity SET id = gen_random_uuid()');
        const flushed =
          'SELECT home FROM flush_answer WHERE request_id = (SELECT max(request_id) FROM flush_answer)';
        await client.query(
          `DELETE FROM spend_share WHERE node_id IN (SELECT id FROM gateway_node WHERE home IN (${flushed}))`,
        );
        await client.query(`DELETE FROM gateway_node WHERE home IN (${flushed})`);
      },
      behindRows: async () => (await sequencesBehind(sqlOver(client)))[0] ?? null,
      commit: async () => {
        await client.query('COMMIT');
      },
      close: () => disconnect(client),
    };
  } catch (error) {
    await disconnect(client);
    throw error;
  }
}

async function planOf(client: Client): Promise<SnapshotPlan> {
  const migrations = await client.query<{ name: string; checksum: string }>(
    `SELECT name, checksum FROM ${ownTable} ORDER BY version`,
  );
  const tables = await client.query<{ name: string; columns: string[]; isSeeded: boolean }>(
    `SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns,
       coalesce(obj_description(c.oid, 'pg_class') = $3, false) AS "isSeeded"
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> $1 AND obj_description(c.oid, 'pg_class') IS DISTINCT FROM $2 GROUP BY c.oid, c.relname ORDER BY c.relname`,
    [ownTable, inNoBackup, hasFirstRow],
  );
  const partitions = await client.query<{ name: string; of: string; bound: string }>(
    `SELECT c.relname AS name, p.relname AS of, pg_get_expr(c.relpartbound, c.oid) AS bound
     FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relispartition AND c.relkind = 'r'
       AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT' ORDER BY c.relname`,
  );
  return { migrations: migrations.rows, tables: tables.rows, partitions: partitions.rows };
}

async function sequencesOf(client: Client): Promise<readonly SequenceState[]> {
  const { rows } = await client.query<SequenceState>(
    `SELECT t.relname AS table, a.attname AS column, s.last_value::text AS last
     FROM pg_sequences s
     JOIN pg_class c ON c.relname = s.sequencename AND c.relnamespace = s.schemaname::regnamespace
     JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'i'
     JOIN pg_class t ON t.oid = d.refobjid JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
     WHERE s.schemaname = current_schema() AND obj_description(t.oid, 'pg_class') IS DISTINCT FROM $1 ORDER BY 1, 2`,
    [inNoBackup],
  );
  return rows;
}
