import type { Sql } from '../../src/store/sql.ts';

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

/** Enables the triggers again. */
const restoreGuards = guarded.map((table) => `ALTER TABLE ${table} ENABLE TRIGGER USER`).join('; ');

/** Changes the ledger directly, without the triggers; `values` are those of the statement. */
export async function tamper(
  database: { transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> },
  statement: string,
  values: readonly unknown[] = [],
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query(liftGuards);
    await sql.query(statement, values);
    await sql.query(restoreGuards);
  });
}
