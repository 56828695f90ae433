import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import type { Sql } from '../store/sql.ts';
import { leadOf } from '../wire/ids/generation-id.ts';

/**
 * Looks for a record of any account by its identity, among the few accounts that it leads to: they
 * are stored together, so that no other server is needed. `look` returns null when it finds nothing.
 */
export async function findInAnyAccount<T>(
  sql: Sql,
  uuid: string,
  look: (accounts: Buffer) => Promise<T | null>,
): Promise<T | null> {
  const rows = await sql.query<{ account_id: bigint }>(
    'SELECT DISTINCT account_id FROM key_directory WHERE (hashint8(account_id) >> 20) & 4095 = $1',
    [leadOf(uuid)],
  );
  const accounts = rows.map(({ account_id }) => Number(account_id));
  return accounts.length === 0 ? null : look(int8ArrayOfNumbers(accounts));
}
