import type { Sql } from '../store/sql.ts';
import { isoDay } from '../time/period.ts';
import { type AccountRow, accounts, selectAccount } from './accounts-sql.ts';

/** What an account may do, the strongest first. */
export const accountStandings = ['closed', 'suspended_by_admin', 'suspended_no_credit', 'active'] as const;
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

const standingSql: Readonly<Record<AccountStanding, string>> = {
  closed: 'a.closed_at IS NOT NULL',
  suspended_by_admin: 'a.closed_at IS NULL AND a.suspended_at IS NOT NULL',
  suspended_no_credit: 'a.closed_at IS NULL AND a.suspended_at IS NULL AND b.balance <= 0',
  active: 'a.closed_at IS NULL AND a.suspended_at IS NULL AND b.balance > 0',
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
  const owners = text === null ? [] : await accountsOfOwners(sql, text);
  const found = await accounts.all(
    sql,
    `${selectAccount}
     WHERE ($1::bigint IS NULL OR a.id < $1) AND ($2::text IS NULL OR ${matchesSql} OR a.id = ANY ($5::bigint[]))
       AND ($4::bigint IS NULL OR a.id = $4) ${standing === null ? '' : `AND ${standingSql[standing]}`}
     ORDER BY a.id DESC LIMIT $3`,
    [page.beforeId, text, page.limit, id, owners],
  );
  const ids = found.map((row) => row.accountId);
  const spent = await sql.query<{ account_id: bigint; spend: bigint; requests: bigint }>(
    `SELECT account_id, sum(cost)::bigint AS spend, sum(requests)::bigint AS requests FROM key_usage_day
     WHERE account_id = ANY ($1::bigint[]) AND day >= $2 GROUP BY account_id`,
    [ids, isoDay(page.sinceDay)],
  );
  const counted = await sql.query<{ account_id: bigint; keys: bigint }>(
    'SELECT account_id, count(*) AS keys FROM api_key WHERE account_id = ANY ($1::bigint[]) AND revoked_at IS NULL GROUP BY account_id',
    [ids],
  );
  const spendOf = new Map(spent.map((row) => [Number(row.account_id), row]));
  const keysOf = new Map(counted.map((row) => [Number(row.account_id), row.keys]));
  return found.map((account) => ({
    ...account,
    standing: standingOfAccount(account),
    spend: spendOf.get(account.accountId)?.spend ?? 0n,
    requests: Number(spendOf.get(account.accountId)?.requests ?? 0n),
    keys: Number(keysOf.get(account.accountId) ?? 0n),
  }));
}

/** What an account may do, by its closure, its suspension and its settled balance. */
export function standingOfAccount({
  closedAtMs,
  suspendedAtMs,
  credits,
  usage,
}: Pick<AccountRow, 'closedAtMs' | 'suspendedAtMs' | 'credits' | 'usage'>): AccountStanding {
  if (closedAtMs !== null) return 'closed';
  if (suspendedAtMs !== null) return 'suspended_by_admin';
  return credits <= usage ? 'suspended_no_credit' : 'active';
}

const matchesSql = `a.id::text = $2 OR position(lower($2) IN lower(a.name)) > 0
         OR position(lower($2) IN lower(a.email)) > 0`;

/** The accounts that have an owner with this part of an address. */
async function accountsOfOwners(sql: Sql, text: string): Promise<readonly bigint[]> {
  const rows = await sql.query<{ account_id: bigint }>(
    'SELECT DISTINCT account_id FROM owner WHERE position(lower($1) IN email_key) > 0',
    [text],
  );
  return rows.map((row) => row.account_id);
}
