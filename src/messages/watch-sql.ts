import { defaultAlerts } from '../accounts/alerts-sql.ts';
import { type KeyRow, keyColumns, keysWithAccounts } from '../accounts/keys-sql.ts';
import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { isoDay } from '../time/period.ts';

/** Whether it is this server's turn: nobody looked for so long, and nobody else begins now. */
export async function takeTurn(sql: Sql, atMs: number, everyMs: number): Promise<boolean> {
  const taken = await sql.query(
    `INSERT INTO message_watch AS w (looked_at) VALUES (to_timestamp($1::float8 / 1000))
     ON CONFLICT (is_only) DO UPDATE SET looked_at = EXCLUDED.looked_at
     WHERE w.looked_at <= to_timestamp(($1::float8 - $2) / 1000) RETURNING 1`,
    [atMs, everyMs],
  );
  return taken.length > 0;
}

const lowBalances = recordOf({
  accountId: number('b.account_id'),
  balance: column<bigint>('b.balance'),
  /** All that was ever added: it changes with each top-up. */
  credits: column<bigint>('b.credits'),
  /** What was spent since `sinceDay`. */
  spent: column<bigint>('p.spent'),
});

/** Open accounts that spent something since a Seoul day, with a balance below what their owner set. */
export function findLowBalances(
  sql: Sql,
  sinceDay: number,
  days: number,
): Promise<readonly RowOf<typeof lowBalances>[]> {
  return lowBalances.all(
    sql,
    `SELECT ${lowBalances.columns} FROM account_balance b JOIN account a ON a.id = b.account_id
     JOIN (SELECT account_id, sum(cost)::bigint AS spent FROM key_usage_day WHERE day >= $1 GROUP BY account_id) p ON p.account_id = b.account_id
     LEFT JOIN account_alert l ON l.account_id = b.account_id
     WHERE a.closed_at IS NULL AND p.spent > 0 AND (b.balance < CASE WHEN l.account_id IS NULL THEN $2 ELSE l.low_balance END
       OR b.balance::numeric * $3 < p.spent::numeric * l.min_days_left)`,
    [isoDay(sinceDay), defaultAlerts.lowBalanceMicro, days],
  );
}

const limitedKeys = recordOf(keyColumns);

/** The keys with a limit, not revoked, that were used since a Seoul day. */
export function findLimitedKeys(sql: Sql, sinceDay: number): Promise<readonly KeyRow[]> {
  return limitedKeys.all(
    sql,
    `SELECT ${limitedKeys.columns} FROM ${keysWithAccounts}
     JOIN (SELECT DISTINCT account_id, key_id FROM key_usage_day WHERE day >= $1) u ON u.account_id = k.account_id AND u.key_id = k.id
     WHERE k.limit_micro > 0 AND k.revoked_at IS NULL`,
    [isoDay(sinceDay)],
  );
}
