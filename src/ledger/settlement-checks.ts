import { placesOfKeys } from '../keys/keys-sql.ts';
import type { Sql } from '../store/sql.ts';
import { findWrittenOff } from './quarantine-sql.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** What may prevent a settlement from an earlier process, by generation. */
export interface RecoveryChecks {
  /** Those that were written off: a journal must not bring them back. */
  readonly writtenOff: ReadonlySet<string>;
  /**
   * Those whose key is not in the database or belongs to another account, with a message. The
   * database was restored from before the key was made, and the settlement would charge an account
   * that does not exist, or a later one with the same number.
   */
  readonly unknownKeys: ReadonlyMap<string, string>;
}

/**
 * Checks settlements that an earlier process left, before they are settled (spec:money/5.7-5.8).
 */
export async function checkRecovered(sql: Sql, rows: readonly SettlementRow[]): Promise<RecoveryChecks> {
  if (rows.length === 0) return { writtenOff: new Set(), unknownKeys: new Map() };
  const writtenOff = await findWrittenOff(
    sql,
    rows.map(({ uuid }) => uuid),
  );
  const keys = await placesOfKeys(sql, [...new Set(rows.map(({ keyId }) => keyId))]);
  const accountOf = new Map(keys.map((key) => [key.id, key.accountId]));
  return {
    writtenOff,
    unknownKeys: new Map(
      rows.flatMap(({ uuid, keyId, accountId }) => {
        const account = accountOf.get(keyId);
        if (account === accountId) return [];
        const message =
          account === undefined ? `there is no key ${keyId}` : `key ${keyId} is of account ${account}`;
        return [[uuid, `${message}, and the settlement charges account ${accountId}`]];
      }),
    ),
  };
}
