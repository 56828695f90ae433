import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { OperatorError } from '../errors/operator-error.ts';
import type { Log } from '../log/log.ts';
import { Database } from './database.ts';
import { distributeNewTables } from './placement/distribution.ts';
import { findSchemaFaults } from './schema-sql.ts';
import type { Sql } from './sql.ts';

/** A numbered, forward-only step of the schema. */
interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** An arbitrary constant: the advisory lock that lets one process migrate at a time. */
const migrationLock = 7_236_482_617;
const ownFolder = new URL('./migrations/', import.meta.url);

/** How a database is migrated. */
export interface MigrateOptions {
  /** Runs before the steps of a database that has earlier ones; nothing changes when it throws. */
  readonly beforeUpgrade?: (sql: Sql) => Promise<void>;
  /** Where the steps are. */
  readonly folder?: URL;
}

/**
 * Brings the schema up to date and returns the names of the steps taken. Throws when an applied
 * step was edited afterwards, or when the database is newer than this program or from before its
 * first release: the code does not match the schema.
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<readonly string[]> {
  // A step may build an index over years of records, so it has no statement limit.
  const unhurried = new Database(database.address, 1);
  try {
    return await takeSteps(unhurried, options);
  } finally {
    await unhurried.close();
  }
}

function takeSteps(
  database: Database,
  { beforeUpgrade, folder = ownFolder }: MigrateOptions,
): Promise<readonly string[]> {
  const known = readMigrations(folder);
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
    await sql.query(
      'CREATE TABLE IF NOT EXISTS schema_migration (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const applied = await sql.query<Omit<Migration, 'sql'>>(
      'SELECT version, name, checksum FROM schema_migration ORDER BY version',
    );
    for (const row of applied) assertKnown(row, known);
    const done = new Set(applied.map((row) => row.version));
    const steps = known.filter((step) => !done.has(step.version));
    if (steps.length > 0 && done.size > 0) await beforeUpgrade?.(sql);
    for (const step of steps) await apply(sql, step);
    if (steps.length > 0) await distributeNewTables(sql);
    return steps.map((step) => step.name);
  });
}

/** The number of steps of this program; the schema is current when as many are applied. */
export function knownMigrations(): number {
  return readMigrations().length;
}

/** The number of steps that the schema has. */
export async function countMigrations(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ n: bigint }>('SELECT count(*) AS n FROM schema_migration');
  return Number(row?.n ?? 0n);
}

async function apply(sql: Sql, step: Migration): Promise<void> {
  await sql.query(step.sql);
  await sql.query('INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)', [
    step.version,
    step.name,
    step.checksum,
  ]);
}

function assertKnown(applied: Omit<Migration, 'sql'>, known: readonly Migration[]): void {
  const step = known.find((candidate) => candidate.version === applied.version);
  if (step === undefined) {
    throw new OperatorError(
      `the database has migration ${applied.name}, which this version of Naru does not know: start the newer version that made it, or restore a backup of this version into an empty database`,
    );
  }
  if (step.name !== applied.name) {
    throw new OperatorError(
      `the database is from before the first release of Naru (migration ${applied.name}), and nothing of it can be read: use an empty database, or another data directory`,
    );
  }
  if (step.checksum !== applied.checksum) {
    throw new OperatorError(
      `migration ${step.name} was edited after it was applied to this database; add a new one instead`,
    );
  }
}

function readMigrations(folder: URL = ownFolder): readonly Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, folder), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      return { version: Number(file.slice(0, 4)), name: file.slice(0, -4), sql, checksum };
    });
}

/**
 * Migrates the schema, and logs the steps that were applied and what differs from the schema
 * (spec:money/3.9).
 */
export async function migrateLogged(database: Database, log: Log): Promise<void> {
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  for (const detail of await findSchemaFaults(database)) log.error('schema_differs', { detail });
}
