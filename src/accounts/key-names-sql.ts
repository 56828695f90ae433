import type { Sql } from '../store/sql.ts';

/** How a key is named to a person. */
export interface KeyName {
  readonly id: number;
  /** 64 hex digits. */
  readonly hash: string;
  readonly name: string;
}

/** The names of keys of one account, revoked ones included. */
export async function readKeyNames(sql: Sql, accountId: number): Promise<readonly KeyName[]> {
  const rows = await sql.query<{ id: bigint; hash: string; name: string }>(
    "SELECT id, encode(hash, 'hex') AS hash, name FROM api_key WHERE account_id = $1",
    [accountId],
  );
  return rows.map((row) => ({ id: Number(row.id), hash: row.hash, name: row.name }));
}
