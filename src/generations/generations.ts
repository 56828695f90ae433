import type { Database } from '../store/database.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { readAhead } from '../store/read-ahead.ts';
import type { Sql } from '../store/sql.ts';
import { findAnyGeneration, findGeneration, findRefusal, listGenerations } from './generations-sql.ts';

const pageSize = 2_000;
const beforeAll = { accountId: -1, uuid: '00000000-0000-0000-0000-000000000000' };

/**
 * A settled generation of this account from the database; null when it does not exist or belongs to
 * another account.
 */
export function readGeneration(
  database: Database,
  accountId: number,
  uuid: string,
): Promise<GenerationRow | null> {
  return findGeneration(database, accountId, uuid);
}

/**
 * The record of refusals of this account that counts a later request with this identity; null when
 * there is none.
 */
export function readRefusal(
  database: Database,
  accountId: number,
  uuid: string,
): Promise<GenerationRow | null> {
  return findRefusal(database, accountId, uuid);
}

/** A settled generation of any account, for the operator. */
export function readAnyGeneration(database: Database, uuid: string): Promise<GenerationRow | null> {
  return findAnyGeneration(database, uuid);
}

/**
 * Every record in the order of account, then time; at most two pages of them in memory, of each
 * server that has accounts.
 */
export async function* exportGenerations(
  database: Database,
  onlyAccount: number | null,
): AsyncGenerator<GenerationRow> {
  const read = (sql: Sql): AsyncGenerator<GenerationRow> =>
    readAhead(pageSize, (last: GenerationRow | null) =>
      listGenerations(sql, { after: last ?? beforeAll, onlyAccount, limit: pageSize }),
    );
  if (onlyAccount !== null) return yield* read(database);
  const placement = await database.place();
  yield* placement.merge(
    read,
    (a, b) => a.accountId - b.accountId || (a.uuid < b.uuid ? -1 : Number(a.uuid > b.uuid)),
  );
}
