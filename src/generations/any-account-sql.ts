import { leadOf } from '../ids/generation-id.ts';
import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import type { Sql } from '../store/sql.ts';

/**
 * Looks for a record of any account by its identity. First among the accounts that the identity
 * leads to, which are in one shard, so that no other server is needed; then everywhere, since an
 * older identity leads nowhere. `look` gets null for all accounts; it returns null when it finds
 * nothing.
 */
export async function findInAnyAccount<T>(
  sql: Sql,
  uuid: string,
  look: (accounts: Buffer | null) => Promise<T | null>,
): Promise<T | null> {
  const rows = await sql.query<{ account_id: bigint }>(
    'SELECT DISTINCT account_id FROM key_directory WHERE (hashint8(account_id) >> 20) & 4095 = $1',
    [leadOf(uuid)],
  );
  const accounts = rows.map(({ account_id }) => Number(account_id));
  const found = accounts.length === 0 ? null : await look(int8ArrayOfNumbers(accounts));
  return found ?? look(null);
}
