import type { Sql } from '../store/sql.ts';

/** From when the pages of an account warn of its balance; null: this one never does. */
export interface Alerts {
  /** Below this balance, in micro-won. */
  readonly lowBalanceMicro: bigint | null;
  /** When the balance lasts for fewer days at the pace of the last seven. */
  readonly minDaysLeft: number | null;
  /** Null while nobody has chosen. */
  readonly updatedAtMs: number | null;
}

/** What holds until an owner chooses: 1,000 won. */
export const defaultAlerts: Alerts = {
  lowBalanceMicro: 1_000_000_000n,
  minDaysLeft: null,
  updatedAtMs: null,
};

/** The alerts of an account. */
export async function readAlerts(sql: Sql, accountId: number): Promise<Alerts> {
  const [row] = await sql.query<{
    low_balance: bigint | null;
    min_days_left: number | null;
    updated_at: number;
  }>('SELECT low_balance, min_days_left, updated_at FROM account_alert WHERE account_id = $1', [accountId]);
  return row === undefined
    ? defaultAlerts
    : { lowBalanceMicro: row.low_balance, minDaysLeft: row.min_days_left, updatedAtMs: row.updated_at };
}

/** Replaces the alerts of an account. */
export async function setAlerts(
  sql: Sql,
  accountId: number,
  { lowBalanceMicro, minDaysLeft }: Omit<Alerts, 'updatedAtMs'>,
  nowMs: number,
): Promise<void> {
  await sql.query(
    `INSERT INTO account_alert (account_id, low_balance, min_days_left, updated_at)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
     ON CONFLICT (account_id) DO UPDATE SET low_balance = EXCLUDED.low_balance, min_days_left = EXCLUDED.min_days_left,
                                            updated_at = EXCLUDED.updated_at`,
    [accountId, lowBalanceMicro, minDaysLeft, nowMs],
  );
}
