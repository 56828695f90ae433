import type { Database } from '../store/database.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { findAnyGeneration, findGeneration, findRefusal, listGenerations } from './generations-sql.ts';

const pageSize = 2_000;

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

/** Every record in the order of account, then time; at most one page of them in memory. */
export async function* exportGenerations(
  database: Database,
  onlyAccount: number | null,
): AsyncGenerator<GenerationRow> {
  let after = { accountId: -1, uuid: '00000000-0000-0000-0000-000000000000' };
  for (;;) {
    const page = await listGenerations(database, { after, onlyAccount, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = { accountId: last.accountId, uuid: last.uuid };
  }
}
