import { placesOfKeys } from '../accounts/keys-sql.ts';
import type { Sql } from '../store/sql.ts';
import { findQuarantined } from './quarantine-sql.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** What may prevent a settlement from an earlier process, by generation. */
export interface RecoveryChecks {
  /**
   * Those that are in the quarantine, whatever was decided: its row owns the decision. The journal
   * may have kept one only in part, and a request without its end would be recorded as free.
   */
  readonly quarantined: ReadonlySet<string>;
  /**
   * Those whose key is not in the database or belongs to another account, with a message. The
   * database was restored from before the key was made, and the settlement would charge an account
   * that does not exist. A later key with the same number is found when it is settled
   * (`LaterKey`): that needs the server of its shard.
   */
  readonly unknownKeys: ReadonlyMap<string, string>;
}

/**
 * Checks settlements that an earlier process left, before they are settled (spec:money/5.7-5.8).
 */
export async function checkRecovered(sql: Sql, rows: readonly SettlementRow[]): Promise<RecoveryChecks> {
  if (rows.length === 0) return { quarantined: new Set(), unknownKeys: new Map() };
  const quarantined = await findQuarantined(
    sql,
    rows.map(({ uuid }) => uuid),
  );
  return { quarantined, unknownKeys: await findUnknownKeys(sql, rows) };
}

/** Those whose key is not in the database or belongs to another account, with a message. */
export async function findUnknownKeys(
  sql: Sql,
  rows: readonly SettlementRow[],
): Promise<ReadonlyMap<string, string>> {
  const keys = await placesOfKeys(sql, [...new Set(rows.map(({ keyId }) => keyId))]);
  const accountOf = new Map(keys.map((key) => [key.id, key.accountId]));
  return new Map(
    rows.flatMap(({ uuid, keyId, accountId }) => {
      const account = accountOf.get(keyId);
      if (account === accountId) return [];
      const message =
        account === undefined ? `there is no key ${keyId}` : `key ${keyId} is of account ${account}`;
      return [[uuid, `${message}, and the settlement charges account ${accountId}`]];
    }),
  );
}
