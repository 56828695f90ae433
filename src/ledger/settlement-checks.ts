import { findKeysById } from '../keys/keys-sql.ts';
import type { Sql } from '../store/sql.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** What may stand in the way of a settlement that was left behind, by generation. */
export interface RecoveryChecks {
  /** Those that were written off: they are not to come back with a journal. */
  readonly writtenOff: ReadonlySet<string>;
  /**
   * Those whose key is not in the database, or is another account's, in words: the books were restored from before it was made, and
   * would charge an account that is not there, or a later one of the same number.
   */
  readonly unknownKeys: ReadonlyMap<string, string>;
}

/** Looks at settlements that an earlier process left, before they are settled. */
export async function checkRecovered(sql: Sql, rows: readonly SettlementRow[]): Promise<RecoveryChecks> {
  if (rows.length === 0) return { writtenOff: new Set(), unknownKeys: new Map() };
  const writtenOff = await sql.query<{ id: string }>(
    "SELECT generation_id AS id FROM quarantined_settlement WHERE resolution = 'written off' AND generation_id = ANY($1::text[])",
    [rows.map(({ uuid }) => uuid)],
  );
  const keys = await findKeysById(sql, [...new Set(rows.map(({ keyId }) => keyId))]);
  const accountOf = new Map(keys.map((key) => [key.id, key.accountId]));
  return {
    writtenOff: new Set(writtenOff.map(({ id }) => id)),
    unknownKeys: new Map(
      rows.flatMap(({ uuid, keyId, accountId }) => {
        const account = accountOf.get(keyId);
        if (account === accountId) return [];
        const message =
          account === undefined ? `there is no key ${keyId}` : `key ${keyId} is of account ${account}`;
        return [[uuid, `${message}, and account ${accountId} was to pay`]];
      }),
    ),
  };
}
