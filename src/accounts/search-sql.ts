import type { Sql } from '../store/sql.ts';
import { isoDay } from '../time/period.ts';
import { type AccountRow, accountOf, type RawAccount, selectAccount } from './accounts-sql.ts';

/** What an account may do, the strongest first. */
export const accountStandings = ['suspended_by_admin', 'suspended_no_credit', 'active'] as const;
export type AccountStanding = (typeof accountStandings)[number];

/** Which accounts; null: any. */
export interface AccountFilter {
  readonly id: number | null;
  /** A part of the name, of the address or of an owner's address, or the id. */
  readonly text: string | null;
  readonly standing: AccountStanding | null;
}

/** An account in the operator's list. */
export interface AccountListing extends AccountRow {
  readonly standing: AccountStanding;
  /** Micro-won and requests since the first day. */
  readonly spend: bigint;
  readonly requests: number;
  /** Keys that are not revoked. */
  readonly keys: number;
}

interface RawListing extends RawAccount {
  readonly spend: bigint;
  readonly requests: bigint;
  readonly keys: bigint;
}

const standingSql: Readonly<Record<AccountStanding, string>> = {
  suspended_by_admin: 'a.suspended_at IS NOT NULL',
  suspended_no_credit: 'a.suspended_at IS NULL AND b.balance <= 0',
  active: 'a.suspended_at IS NULL AND b.balance > 0',
};

/**
 * Up to `limit` accounts with an id below `beforeId`, newest first, with what they spent since
 * `sinceDay`. The sums are those of the page's accounts only.
 */
export async function searchAccounts(
  sql: Sql,
  { id, text, standing }: AccountFilter,
  page: { readonly beforeId: number | null; readonly limit: number; readonly sinceDay: number },
): Promise<readonly AccountListing[]> {
  const rows = await sql.query<RawListing>(
    `WITH found AS MATERIALIZED (
       ${selectAccount}
       WHERE ($1::bigint IS NULL OR a.id < $1) AND ($2::text IS NULL OR ${matchesSql})
         AND ($5::bigint IS NULL OR a.id = $5) ${standing === null ? '' : `AND ${standingSql[standing]}`}
       ORDER BY a.id DESC LIMIT $3)
     SELECT found.*, used.spend, used.requests,
       (SELECT count(*) FROM api_key k WHERE k.account_id = found.account_id AND k.revoked_at IS NULL) AS keys
     FROM found, LATERAL (
       SELECT coalesce(sum(cost), 0)::bigint AS spend, coalesce(sum(u.requests), 0)::bigint AS requests
       FROM key_usage_day u WHERE u.account_id = found.account_id AND u.day >= $4) used
     ORDER BY found.account_id DESC`,
    [page.beforeId, text, page.limit, isoDay(page.sinceDay), id],
  );
  return rows.map((row) => {
    const account = accountOf(row);
    return {
      ...account,
      standing: standingOfAccount(account),
      spend: row.spend,
      requests: Number(row.requests),
      keys: Number(row.keys),
    };
  });
}

/** What an account may do, by its suspension and its settled balance. */
export function standingOfAccount({ suspendedAtMs, credits, usage }: AccountRow): AccountStanding {
  if (suspendedAtMs !== null) return 'suspended_by_admin';
  return credits <= usage ? 'suspended_no_credit' : 'active';
}

const matchesSql = `a.id::text = $2 OR position(lower($2) IN lower(a.name)) > 0
         OR position(lower($2) IN lower(a.email)) > 0
         OR EXISTS (SELECT 1 FROM owner o WHERE o.account_id = a.id AND position(lower($2) IN o.email_key) > 0)`;
