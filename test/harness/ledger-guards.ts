import type { Sql } from '../../src/store/sql.ts';
import { workersOfServer } from './citus.ts';

/** The tables whose rows the database protects from changes and removal by trigger. */
const guarded = [
  'account_balance',
  'catalogue_edition',
  'credit_lot',
  'generation',
  'key_usage_day',
  'ledger',
  'price_version',
  'pruned_month',
  'pruned_usage',
  'quarantined_settlement',
];

/**
 * Disables the triggers of the ledger until the transaction ends, as an attacker with schema rights
 * could. Returns nothing.
 */
export const liftGuards = guarded.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`).join('; ');

/**
 * Runs commands that `; ` separates, one by one: an engine that sends them to other servers takes no
 * text of several.
 */
export async function runEach(sql: Sql, commands: string): Promise<void> {
  if (workersOfServer().length > 0)
    await sql.query("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'");
  for (const command of commands.split(/;\s+/)) if (command.trim() !== '') await sql.query(command);
}

/** Enables the triggers again, as the migrations do. */
const restoreGuards = guarded
  .flatMap((table) => {
    const isKept = table === 'account_balance' || table === 'key_usage_day';
    const names =
      table === 'generation' ? ['append_only', 'append_only_truncate'] : [isKept ? 'kept' : 'append_only'];
    return names.map((name) => `ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${name}`);
  })
  .join('; ');

/** Changes the ledger directly, without the triggers; `values` are those of the statement. */
export async function tamper(
  database: { transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> },
  statement: string,
  values: readonly unknown[] = [],
): Promise<void> {
  await database.transaction(async (sql) => {
    await runEach(sql, liftGuards);
    await sql.query(statement, values);
    await runEach(sql, restoreGuards);
  });
}
