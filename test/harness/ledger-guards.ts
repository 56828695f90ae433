import type { Sql } from '../../src/store/sql.ts';

/** The tables whose rows the database keeps from being changed or removed, by trigger. */
const guarded = [
  'account_balance',
  'app_usage_day',
  'catalogue_edition',
  'credit_lot',
  'generation',
  'key_usage_day',
  'ledger',
  'model_usage_day',
  'price_version',
  'pruned_month',
  'pruned_usage',
  'quarantined_settlement',
];

/** Lifts the guards of the books until the transaction ends, as somebody could who may change the schema. Returns nothing. */
export const liftGuards = guarded.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`).join('; ');

/** Puts the guards back. */
const restoreGuards = guarded.map((table) => `ALTER TABLE ${table} ENABLE TRIGGER USER`).join('; ');

/** Changes the books by hand, past the guards; `values` are those of the statement. */
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
