import { deleteMessages } from '../messages/outbox-sql.ts';
import { recordChanges } from '../store/changes.ts';
import { number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** The name of an account whose person was erased. */
const erasedName = "'account ' || id";
/** What the owner wrote beside a top-up, and who would have paid one that was not confirmed. */
const ownTexts = "(note IS NOT NULL OR (depositor IS NOT NULL AND state <> 'confirmed'))";
const ofAccount = (table: string, condition = 'true') =>
  number(`(SELECT count(*) FROM ${table} WHERE account_id = $1 AND ${condition})`);
const ofOwner = (table: string) =>
  number(`(SELECT count(*) FROM ${table} WHERE owner_id = (SELECT id FROM owner WHERE account_id = $1))`);

const removed = recordOf({
  account_name: number(`(name <> ${erasedName})::int`),
  contact_address: number('(email IS NOT NULL)::int'),
  owner: ofAccount('owner'),
  passkeys: ofOwner('passkey'),
  openid_identities: ofOwner('owner_oidc'),
  sessions: ofAccount('page_session'),
  links: ofAccount('one_time_link'),
  key_names: ofAccount('api_key', 'name <> label'),
  app_names: ofAccount('app_preference', 'name IS NOT NULL'),
  topup_texts: ofAccount('topup_request', ownTexts),
  messages: ofAccount('message_event'),
});
const kept = recordOf({
  ledger_entries: number('(SELECT entries FROM account_balance WHERE account_id = $1)'),
  paid_topups: ofAccount('topup_request', "state = 'confirmed'"),
  business_number: number('(business_number IS NOT NULL)::int'),
  generations: number('(SELECT coalesce(sum(requests), 0)::bigint FROM key_usage_day WHERE account_id = $1)'),
  keys: ofAccount('api_key'),
  audit_entries: ofAccount('audit_entry'),
});

/** What of an account is data of a person, as counts: what an erasure removes, and what stays. */
export interface PersonalData {
  readonly removed: RowOf<typeof removed>;
  readonly kept: RowOf<typeof kept>;
}

/** Null: no such account. */
export async function readPersonalData(sql: Sql, accountId: number): Promise<PersonalData | null> {
  const from = 'FROM account WHERE id = $1';
  const goes = await removed.first(sql, `SELECT ${removed.columns} ${from}`, [accountId]);
  const stays = await kept.first(sql, `SELECT ${kept.columns} ${from}`, [accountId]);
  return goes === null || stays === null ? null : { removed: goes, kept: stays };
}

/** The addresses of an account: its own, its owner's and those that were invited. */
export async function readAddresses(sql: Sql, accountId: number): Promise<readonly string[]> {
  const rows = await sql.query<{ email: string }>(
    `SELECT email FROM account WHERE id = $1 AND email IS NOT NULL UNION SELECT email FROM owner WHERE account_id = $1
     UNION SELECT email FROM one_time_link WHERE account_id = $1 AND email IS NOT NULL`,
    [accountId],
  );
  return rows.map(({ email }) => email);
}

/** Removes the names and texts of a person from the tables of an account. The owner is deleted apart. */
export async function eraseTexts(sql: Sql, accountId: number): Promise<void> {
  const of = [accountId];
  await sql.query('DELETE FROM one_time_link WHERE account_id = $1', of);
  await sql.query('DELETE FROM page_session WHERE account_id = $1', of);
  // What the owner changed on pages within a day.
  await sql.query("DELETE FROM page_change WHERE scope = 'account ' || $1::bigint", of);
  await deleteMessages(sql, accountId);
  await sql.query(`UPDATE account SET name = ${erasedName}, email = NULL WHERE id = $1`, of);
  await sql.query('UPDATE app_preference SET name = NULL WHERE account_id = $1 AND name IS NOT NULL', of);
  await sql.query(
    `UPDATE topup_request SET note = NULL, depositor = CASE state WHEN 'confirmed' THEN depositor END
     WHERE account_id = $1 AND ${ownTexts}`,
    of,
  );
  const keys = await sql.query<{ id: bigint }>(
    'UPDATE api_key SET name = label WHERE account_id = $1 AND name <> label RETURNING id',
    of,
  );
  await recordChanges(
    sql,
    'key',
    keys.map(({ id }) => Number(id)),
  );
}

/** Replaces an address in what operators wrote about an account, or anywhere, and in stored responses of pages. */
export async function replaceAddress(
  sql: Sql,
  accountId: number,
  address: string,
  where: 'everywhere' | 'account',
): Promise<void> {
  const literal = address.replaceAll(/[^\p{L}\p{N}@]/gu, (char) => `\\${char}`);
  const pattern = `(?<![\\w.+-])${literal}(?![\\w-])`;
  const replaced = (column: string): string =>
    `${column} = regexp_replace(${column}, $1, 'erased', 'gi') WHERE ${column} ~* $1`;
  await sql.query("SELECT set_config('naru.erasing', 'on', true)");
  await sql.query(
    `UPDATE audit_entry SET ${replaced('reason')} AND ($2::bigint IS NULL OR account_id = $2)`,
    [pattern, where === 'everywhere' ? null : accountId],
  );
  await sql.query("SELECT set_config('naru.erasing', 'off', true)");
  await sql.query(`UPDATE page_change SET ${replaced('reply')}`, [pattern]);
  const values = [pattern, accountId];
  await sql.query(`UPDATE account SET ${replaced('suspend_reason')} AND id = $2`, values);
  await sql.query(`UPDATE api_key SET ${replaced('suspend_reason')} AND account_id = $2`, values);
  await sql.query(`UPDATE topup_request SET ${replaced('reason')} AND account_id = $2`, values);
}
