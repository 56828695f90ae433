import type { SettlementRow } from './settlement.ts';
import type { Sql } from './sql.ts';

export type { SettlementRow } from './settlement.ts';

/**
 * The settlements whose account or key is not in the database, with what is missing, by generation: the books were restored from before
 * they were made, and a later account may get the same number.
 */
export async function unknownPayers(
  sql: Sql,
  rows: readonly SettlementRow[],
): Promise<ReadonlyMap<string, string>> {
  const keys = await sql.query<{ id: bigint; account_id: bigint }>(
    'SELECT id, account_id FROM api_key WHERE id = ANY($1::bigint[])',
    [[...new Set(rows.map(({ keyId }) => keyId))]],
  );
  const accountOf = new Map(keys.map((key) => [Number(key.id), Number(key.account_id)]));
  return new Map(
    rows.flatMap(({ uuid, keyId, accountId }) => {
      const account = accountOf.get(keyId);
      if (account === accountId) return [];
      const words =
        account === undefined ? `there is no key ${keyId}` : `key ${keyId} is of account ${account}`;
      return [[uuid, `${words}, and account ${accountId} was to pay`]];
    }),
  );
}

/** The generations among these whose settlement was written off: it is not to come back with a journal. */
export async function writtenOff(sql: Sql, rows: readonly SettlementRow[]): Promise<ReadonlySet<string>> {
  const found = await sql.query<{ id: string }>(
    "SELECT generation_id AS id FROM quarantined_settlement WHERE resolution = 'written off' AND generation_id = ANY($1::text[])",
    [rows.map(({ uuid }) => uuid)],
  );
  return new Set(found.map(({ id }) => id));
}
