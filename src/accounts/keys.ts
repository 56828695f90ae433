import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { type LimitReset, seoulDayAt } from '../time/period.ts';
import { type KeyHash, type KeyKind, type NewKey as KeySecret, newKey } from './api-key.ts';
import {
  countKeysAlone,
  findKeyByHash,
  findKeyById,
  findOwnKey,
  insertKey,
  type KeyChange,
  type KeyPlace,
  type KeyRow,
  type KeysPlace,
  listKeys,
  pageOfKeys,
  type RestrictionChange,
  readKeySpend,
  readKeySpends,
  type Suspension,
  setAdminSuspended,
  setRevoked,
  updateOwnKey,
} from './keys-sql.ts';
import { noSpend, type Spend } from './spend.ts';

export type { KeyChange, KeyRow, Suspension } from './keys-sql.ts';

const dayMs = 86_400_000;

/** The properties of a new key. */
export interface NewKey {
  readonly accountId: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit: Krw | null;
  readonly limitReset: LimitReset;
  readonly expiresAtMs: number | null;
  readonly restrictions?: RestrictionChange;
}

/**
 * Creates a key; the plaintext in the result exists nowhere else (spec:api/2.1). Refuses when the
 * account is closed, or has `maxPerAccount` keys that are not revoked, also when keys are created at
 * the same time. Refuses when it has revoked as many in the last 24 hours: a client that creates and revokes
 * in a loop adds no more rows than that a day.
 */
export async function createKey(
  database: Transactions,
  options: NewKey,
  context: KeyContext,
): Promise<{ readonly hash: KeyHash; readonly plaintext: string; readonly id: number }> {
  const secret = newKey(options.kind, context.prefix);
  const id = await database.transaction((sql) => addKey(sql, options, secret, context));
  return { hash: secret.hash, plaintext: secret.plaintext, id };
}

/** How keys of an account may be made. */
interface KeyContext {
  readonly prefix: string;
  readonly nowMs: number;
  readonly maxPerAccount: number;
}

async function addKey(
  sql: Sql,
  { limit, ...stated }: NewKey,
  { hash, label }: KeySecret,
  { nowMs, maxPerAccount }: KeyContext,
): Promise<number> {
  const { live, revoked, isClosed } = await countKeysAlone(sql, stated.accountId, nowMs - dayMs);
  if (isClosed) throw refuse('invalid_request', messages.accountClosed());
  if (live >= maxPerAccount) throw tooManyKeys(maxPerAccount);
  if (revoked >= maxPerAccount) throw tooManyRevoked(maxPerAccount);
  const keyId = await insertKey(sql, { ...stated, limitMicro: limit, hash, label, createdAtMs: nowMs });
  await recordChange(sql, 'key', keyId);
  return keyId;
}

/**
 * Replaces a key of this account by a new one with the same name, limit and restrictions; the old one expires at
 * `endsAtMs`, or earlier if it would have. Both happen or neither. Null when the account has no
 * such key, or the key was revoked.
 */
export async function rotateKey(
  database: Database,
  old: { readonly accountId: number; readonly hash: KeyHash; readonly endsAtMs: number },
  context: KeyContext,
): Promise<{ readonly hash: KeyHash; readonly plaintext: string; readonly oldId: number } | null> {
  return database.transaction(async (sql) => {
    const found = await findOwnKey(sql, old.accountId, old.hash);
    if (found === null || found.revokedAtMs !== null) return null;
    const { accountId, kind, name, limitMicro, limitReset, expiresAtMs } = found;
    const restrictions = found.restrictions ?? {};
    const secret = newKey(kind, context.prefix);
    const limit = limitMicro === null ? null : krwOfMicro(limitMicro);
    const same = { accountId, kind, name, limit, limitReset, expiresAtMs, restrictions };
    await addKey(sql, same, secret, context);
    const endsAtMs = Math.min(old.endsAtMs, expiresAtMs ?? Number.POSITIVE_INFINITY);
    await updateOwnKey(sql, accountId, old.hash, { expiresAtMs: endsAtMs }, context.nowMs);
    await recordChange(sql, 'key', found.id);
    return { hash: secret.hash, plaintext: secret.plaintext, oldId: found.id };
  });
}

function tooManyKeys(max: number): Error {
  return refuse('invalid_request', messages.tooManyKeys(max));
}

function tooManyRevoked(max: number): Error {
  return refuse('invalid_request', messages.tooManyRevokedKeys(max));
}

/** A key in any state, or null. */
export function readKey(database: Database, hash: KeyHash): Promise<KeyRow | null> {
  return findKeyByHash(database, hash);
}

/** The key with this id in any state, or null. */
export function readKeyById(database: Database, id: number): Promise<KeyRow | null> {
  return findKeyById(database, id);
}

/** Every key of an account, newest first, revoked ones included. */
export function readKeys(database: Database, accountId: number): Promise<readonly KeyRow[]> {
  return listKeys(database, accountId);
}

/** What a key has spent, as of the instant. */
export async function readSpend(database: Database, key: KeyRow, nowMs: number): Promise<Spend> {
  const day = seoulDayAt(nowMs);
  return { day, ...(await readKeySpend(database, key, day)) };
}

/** What keys of one account have spent, as of the instant, by the id of the key. */
export async function readSpends(
  database: Database,
  accountId: number,
  keyIds: readonly number[],
  nowMs: number,
): Promise<(keyId: number) => Spend> {
  const day = seoulDayAt(nowMs);
  const spends = await readKeySpends(
    database,
    keyIds.map((id) => ({ id, accountId })),
    day,
  );
  return (keyId) => ({ ...noSpend(day), ...spends.get(keyId) });
}

/**
 * Suspends a key for the administrator, or lifts that suspension; false when there is no such key.
 * Only a suspended key has a reason. `endsCalls`: its calls in flight end too, on every node.
 */
export function suspendKey(database: Transactions, change: Suspension, endsCalls = false): Promise<boolean> {
  const reason = change.suspended ? change.reason : null;
  const suspend = (sql: Sql, key: KeyPlace) => setAdminSuspended(sql, key, { ...change, reason });
  return changeKey(database, change.hash, suspend, endsCalls);
}

/** Changes the limit and the restrictions of a key for the operator; false when there is no such key. */
export function limitKey(
  database: Transactions,
  hash: KeyHash,
  limit: Pick<KeyChange, 'limitMicro' | 'limitReset' | 'restrictions'>,
  atMs: number,
): Promise<boolean> {
  const change = async (sql: Sql, { accountId }: KeyPlace) =>
    (await updateOwnKey(sql, accountId, hash, limit, atMs)) !== null;
  return changeKey(database, hash, change, false);
}

/**
 * Revokes a key permanently; true also when it was revoked before. False when there is no such key.
 * `endsCalls`: its calls in flight end too, on every node.
 */
export function revokeKey(
  database: Transactions,
  hash: KeyHash,
  atMs: number,
  endsCalls = false,
): Promise<boolean> {
  return changeKey(database, hash, (sql, key) => setRevoked(sql, key, atMs), endsCalls);
}

function changeKey(
  database: Transactions,
  hash: KeyHash,
  change: (sql: Sql, key: KeyPlace) => Promise<boolean>,
  endsCalls: boolean,
): Promise<boolean> {
  return database.transaction(async (sql) => {
    const key = await findKeyByHash(sql, hash);
    if (key === null || !(await change(sql, key))) return false;
    await recordChange(sql, 'key', key.id);
    if (endsCalls) await recordChange(sql, 'calls-of-key', key.id);
    return true;
  });
}

/** What a key may use, as the API and the pages name it (spec:api/21); null: everything. */
export function restrictionsOf({ restrictions }: Pick<KeyRow, 'restrictions'>) {
  const { allowed_models: models, allowed_providers: providers, rpm_limit = null } = restrictions ?? {};
  return {
    allowed_models: models === undefined ? null : [...models],
    allowed_providers: providers === undefined ? null : [...providers],
    rpm_limit,
  };
}

/** How many keys a page of the listing has (spec:api/7.4). */
const pageSize = 100;

/**
 * A key of this account in any state; null when it does not exist or belongs to another account
 * (spec:api/6.2).
 */
export function readOwnKey(database: Database, accountId: number, hash: KeyHash): Promise<KeyRow | null> {
  return findOwnKey(database, accountId, hash);
}

/** A page of the account's keys, newest first; revoked ones are never listed (spec:api/7.5). */
export function readKeyPage(
  database: Database,
  page: {
    readonly accountId: number;
    readonly place: KeysPlace;
    readonly includeDisabled: boolean;
    readonly kind?: KeyKind;
  },
): Promise<readonly KeyRow[]> {
  return pageOfKeys(database, { ...page, limit: 'limit' in page.place ? page.place.limit : pageSize });
}

/**
 * Changes a key of this account, completely or not at all; null when there is no such key
 * (spec:api/6.4).
 */
export function changeOwnKey(
  database: Database,
  accountId: number,
  hash: KeyHash,
  change: KeyChange,
  atMs: number,
): Promise<KeyRow | null> {
  return database.transaction(async (sql) => {
    const row = await updateOwnKey(sql, accountId, hash, change, atMs);
    if (row !== null) await recordChange(sql, 'key', row.id);
    return row;
  });
}
