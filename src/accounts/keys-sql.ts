import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { column, hex, nullable, number, numeric, placeIn, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import {
  isoDay,
  type LimitReset,
  limitResets,
  periodAt,
  seoulDayAt,
  seoulDayStartMs,
} from '../time/period.ts';
import { lockAccount } from './accounts-sql.ts';
import type { KeyHash, KeyKind } from './api-key.ts';

const kinds: readonly KeyKind[] = ['inference', 'management'];

/** What a key may use besides its spend limit, as the API names it; an absent member restricts nothing. */
export interface KeyRestrictions {
  /** Model ids, and beginnings of ids with `*` behind them. */
  readonly allowed_models?: readonly string[];
  /** Names of providers, as in `provider.only` of a request. */
  readonly allowed_providers?: readonly string[];
  /** Requests a minute. */
  readonly rpm_limit?: number;
}

/** A change of restrictions: null removes one, and an absent member stays as it is. */
export type RestrictionChange = {
  readonly [Name in keyof KeyRestrictions]: KeyRestrictions[Name] | null | undefined;
};

/** A key of a suspended account is suspended too; lifting its own suspension does not lift that. */
const isSuspended = '(k.admin_suspended OR a.suspended_at IS NOT NULL)';

/** The members of a key, of `keysWithAccounts`. */
export const keyColumns = {
  id: number('k.id'),
  hash: hex<KeyHash>('k.hash'),
  accountId: number('k.account_id'),
  kind: placeIn(kinds, 'k.kind', 1),
  name: column<string>('k.name'),
  label: column<string>('k.label'),
  userDisabled: column<boolean>('k.user_disabled'),
  adminSuspended: column<boolean>(isSuspended),
  revokedAtMs: column<number | null>('k.revoked_at'),
  expiresAtMs: column<number | null>('k.expires_at'),
  /** A numeric: 10^15 won are more micro-won than a bigint of the database can hold. */
  limitMicro: nullable(numeric('k.limit_micro')),
  limitReset: placeIn<LimitReset>(limitResets, 'k.limit_reset', 0),
  restrictions: column<KeyRestrictions | null>('k.restrictions'),
  createdAtMs: column<number>('k.created_at'),
  updatedAtMs: column<number | null>('k.updated_at'),
};
const keys = recordOf(keyColumns);

/** One API key as stored; amounts in micro-won, instants in epoch milliseconds. */
export type KeyRow = RowOf<typeof keys>;

/**
 * What a key spent in the periods that contain one Seoul day, less what refunds gave back to its
 * limit (spec:money/7.10); micro-won.
 */
export interface KeySpendRow {
  readonly daily: bigint;
  readonly weekly: bigint;
  readonly monthly: bigint;
  readonly total: bigint;
}

/** The members of a new key that are stated; the rest has its default. */
export type NewKeyRow = Pick<
  KeyRow,
  | 'hash'
  | 'accountId'
  | 'kind'
  | 'name'
  | 'label'
  | 'limitMicro'
  | 'limitReset'
  | 'expiresAtMs'
  | 'createdAtMs'
> & { readonly restrictions?: RestrictionChange };

/** Keys with their accounts. A subquery on the account would read those of all servers. */
export const keysWithAccounts = 'api_key k JOIN account a ON a.id = k.account_id';
const selectKey = `SELECT ${keys.columns} FROM ${keysWithAccounts}`;

/** Whether there is a key, of any account. */
export async function hasKeys(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM key_directory LIMIT 1');
  return rows.length > 0;
}

/** Stores a key and its entry in the directory, in the caller's transaction; returns its id. */
export async function insertKey(sql: Sql, key: NewKeyRow): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO api_key (hash, account_id, kind, name, label, limit_micro, limit_reset, expires_at, created_at, restrictions)
     VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), to_timestamp($9::float8 / 1000),
       nullif(jsonb_strip_nulls($10::jsonb), '{}')) RETURNING id`,
    [
      Buffer.from(key.hash, 'hex'),
      key.accountId,
      kinds.indexOf(key.kind) + 1,
      key.name,
      key.label,
      key.limitMicro,
      limitResets.indexOf(key.limitReset),
      key.expiresAtMs,
      key.createdAtMs,
      JSON.stringify(key.restrictions ?? {}),
    ],
  );
  if (row === undefined) throw new Error('INSERT INTO api_key returned no row');
  await sql.query('INSERT INTO key_directory (hash, key_id, account_id) VALUES ($1, $2, $3)', [
    Buffer.from(key.hash, 'hex'),
    row.id,
    key.accountId,
  ]);
  return Number(row.id);
}

/**
 * How many keys of an account are not revoked, how many were revoked since an instant, and whether
 * it is closed. Until the transaction ends no other transaction counts those of the account, and
 * nobody closes it, so all this stays valid for an insert.
 */
export async function countKeysAlone(
  sql: Sql,
  accountId: number,
  revokedSinceMs: number,
): Promise<{ readonly live: number; readonly revoked: number; readonly isClosed: boolean }> {
  const account = await lockAccount(sql, accountId);
  const [row] = await sql.query<{ live: bigint; revoked: bigint }>(
    `SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS live,
       count(*) FILTER (WHERE revoked_at > to_timestamp($2::float8 / 1000)) AS revoked
     FROM api_key WHERE account_id = $1`,
    [accountId, revokedSinceMs],
  );
  return {
    live: Number(row?.live ?? 0n),
    revoked: Number(row?.revoked ?? 0n),
    isClosed: account !== null && account.closedAtMs !== null,
  };
}

/** The key with this hash, whatever its state; null when there is none. */
export async function findKeyByHash(sql: Sql, hash: KeyHash): Promise<KeyRow | null> {
  const place = await placeOfKey(sql, hash);
  const key = place === null ? null : await findKeyAt(sql, place);
  // A directory that names another key finds none.
  return key?.hash === hash ? key : null;
}

/** The key at this place, whatever its state; null when there is none. */
export function findKeyAt(sql: Sql, { accountId, id }: KeyPlace): Promise<KeyRow | null> {
  return keys.first(sql, `${selectKey} WHERE k.account_id = $1 AND k.id = $2`, [accountId, id]);
}

const places = recordOf({ accountId: number('account_id'), id: number('key_id') });
const selectPlace = `SELECT ${places.columns} FROM key_directory`;

/** The account of a key and its id there. */
export type KeyPlace = RowOf<typeof places>;

/** Where the key with this hash is; null when there is none. */
export function placeOfKey(sql: Sql, hash: KeyHash): Promise<KeyPlace | null> {
  return places.first(sql, `${selectPlace} WHERE hash = $1`, [Buffer.from(hash, 'hex')]);
}

/** The key with this id, whatever its state; null when there is none. */
export async function findKeyById(sql: Sql, id: number): Promise<KeyRow | null> {
  return (await findKeysById(sql, [id]))[0] ?? null;
}

/** The keys with these ids, whatever their state; those that do not exist are left out. */
export async function findKeysById(sql: Sql, ids: readonly number[]): Promise<readonly KeyRow[]> {
  return findKeysAt(sql, await placesOfKeys(sql, ids));
}

/** Where the keys with these ids are; those that do not exist are left out. */
export function placesOfKeys(sql: Sql, ids: readonly number[]): Promise<readonly KeyPlace[]> {
  return places.all(sql, `${selectPlace} WHERE key_id = ANY ($1::bigint[])`, [int8ArrayOfNumbers(ids)]);
}

/** The keys at these places, whatever their state; those that do not exist are left out. */
export async function findKeysAt(sql: Sql, at: readonly KeyPlace[]): Promise<readonly KeyRow[]> {
  if (at.length === 0) return [];
  return keys.all(sql, `${selectKey} WHERE k.account_id = ANY ($1::bigint[]) AND k.id = ANY ($2::bigint[])`, [
    int8ArrayOfNumbers([...new Set(at.map(({ accountId }) => accountId))]),
    int8ArrayOfNumbers(at.map(({ id }) => id)),
  ]);
}

/** The keys whose hash begins with these hex digits, whatever their state, at most ten. */
export async function findKeysByPrefix(sql: Sql, prefix: string): Promise<readonly KeyRow[]> {
  const bounds = ['0', 'f'].map((digit) => Buffer.from(prefix.padEnd(64, digit), 'hex'));
  const at = await places.all(sql, `${selectPlace} WHERE hash BETWEEN $1 AND $2 LIMIT 10`, bounds);
  return (await findKeysAt(sql, at)).filter(({ hash }) => hash.startsWith(prefix));
}

/** Every key of an account, newest first, revoked ones included. */
export function listKeys(sql: Sql, accountId: number): Promise<readonly KeyRow[]> {
  return keys.all(sql, `${selectKey} WHERE k.account_id = $1 ORDER BY k.id DESC`, [accountId]);
}

/** A suspension of a key by an operator, or its end. */
export interface Suspension {
  readonly hash: KeyHash;
  readonly suspended: boolean;
  readonly reason: string | null;
  readonly atMs: number;
}

/**
 * Suspends a key for an operator, or lifts that suspension; false when there is no such key.
 */
export async function setAdminSuspended(sql: Sql, key: KeyPlace, change: Suspension): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE api_key SET admin_suspended = $3, suspend_reason = $4,
       updated_at = greatest(created_at, updated_at, to_timestamp($5::float8 / 1000))
     WHERE account_id = $1 AND id = $2 RETURNING id`,
    [key.accountId, key.id, change.suspended, change.reason, change.atMs],
  );
  return rows.length > 0;
}

/**
 * Revokes a key permanently; the first revocation's instant stays. False when there is no such key.
 */
export async function setRevoked(sql: Sql, key: KeyPlace, atMs: number): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE api_key SET revoked_at = coalesce(revoked_at, to_timestamp($3::float8 / 1000)),
       updated_at = greatest(created_at, updated_at, to_timestamp($3::float8 / 1000))
     WHERE account_id = $1 AND id = $2 RETURNING id`,
    [key.accountId, key.id, atMs],
  );
  return rows.length > 0;
}

/** What keys have spent, by the id of the key; a key that never spent is not in it. */
export async function readKeySpends(
  sql: Sql,
  of: readonly KeyPlace[],
  day: number,
): Promise<ReadonlyMap<number, KeySpendRow>> {
  const rows = await sql.query<{ key_id: bigint } & KeySpendRow>(
    `SELECT key_id, ${sumsOfSpend} FROM unnest($1::bigint[], $2::bigint[]) k (account, id)
     JOIN key_usage_day ON account_id = k.account AND key_id = k.id WHERE account_id = ANY($1::bigint[]) GROUP BY key_id`,
    [
      int8ArrayOfNumbers(of.map(({ accountId }) => accountId)),
      int8ArrayOfNumbers(of.map(({ id }) => id)),
      ...daysOf(day),
    ],
  );
  return new Map(rows.map(({ key_id, ...spend }) => [Number(key_id), spend]));
}

/**
 * What a key has spent in the day, week and month that contain the Seoul day `day`, and in all
 * (spec:money/7.1).
 */
export async function readKeySpend(sql: Sql, key: KeyPlace, day: number): Promise<KeySpendRow> {
  const [row] = await sql.query<KeySpendRow>(
    `SELECT ${sumsOfSpend} FROM key_usage_day WHERE account_id = $1 AND key_id = $2`,
    [key.accountId, key.id, ...daysOf(day)],
  );
  return row ?? { daily: 0n, weekly: 0n, monthly: 0n, total: 0n };
}

/**
 * The sums of `KeySpendRow`, by the parameters of `daysOf` as $3 to $7. Of a whole week or month:
 * another node may be past midnight already.
 */
const sumsOfSpend = `coalesce(sum(cost - returned) FILTER (WHERE day = $3), 0)::bigint AS daily,
            coalesce(sum(cost - returned) FILTER (WHERE day >= $4 AND day < $5), 0)::bigint AS weekly,
            coalesce(sum(cost - returned) FILTER (WHERE day >= $6 AND day < $7), 0)::bigint AS monthly,
            coalesce(sum(cost - returned), 0)::bigint AS total`;

/** A Seoul day, and of its week and month the first day and the day after the last. */
function daysOf(day: number): readonly string[] {
  const spans = (['weekly', 'monthly'] as const).map((reset) => periodAt(reset, seoulDayStartMs(day)));
  const ends = spans.flatMap(({ startMs, endMs }) => [seoulDayAt(startMs), seoulDayAt(endMs)]);
  return [day, ...ends].map(isoDay);
}

/** The changes of a key; absent members do not change. */
export type KeyChange = Partial<
  Pick<KeyRow, 'name' | 'userDisabled' | 'limitMicro' | 'limitReset' | 'expiresAtMs'>
> & { readonly restrictions?: RestrictionChange };

/**
 * The key with this hash if it belongs to this account. One statement for "none" and "another
 * account's": they take the same time.
 */
export function findOwnKey(sql: Sql, accountId: number, hash: KeyHash): Promise<KeyRow | null> {
  const values = [Buffer.from(hash, 'hex'), accountId];
  return keys.first(sql, `${selectKey} WHERE k.hash = $1 AND k.account_id = $2`, values);
}

/**
 * Where a page of keys begins: after so many keys, as the API counts, or after the key with an id, so
 * that keys which appear or go between two pages move no other (null: at the newest).
 */
export type KeysPlace =
  | { readonly offset: number }
  | { readonly beforeId: number | null; readonly limit: number };

/**
 * A page of an account's keys that are not revoked, newest first; with `kind` only those of the
 * kind.
 */
export function pageOfKeys(
  sql: Sql,
  page: {
    readonly accountId: number;
    readonly limit: number;
    readonly place: KeysPlace;
    readonly includeDisabled: boolean;
    readonly kind?: KeyKind;
  },
): Promise<readonly KeyRow[]> {
  return keys.all(
    sql,
    `${selectKey} WHERE k.account_id = $1 AND k.revoked_at IS NULL AND ($2 OR NOT (k.user_disabled OR ${isSuspended}))
       AND ($5::smallint IS NULL OR k.kind = $5) AND ($6::bigint IS NULL OR k.id < $6)
     ORDER BY k.id DESC LIMIT $3 OFFSET $4`,
    [
      page.accountId,
      page.includeDisabled,
      page.limit,
      'offset' in page.place ? page.place.offset : 0,
      page.kind === undefined ? null : kinds.indexOf(page.kind) + 1,
      'offset' in page.place ? null : page.place.beforeId,
    ],
  );
}

/**
 * Changes a key of this account and returns it; null when there is none. Only the stated members
 * change, and `updated_at`.
 */
export function updateOwnKey(
  sql: Sql,
  accountId: number,
  hash: KeyHash,
  change: KeyChange,
  atMs: number,
): Promise<KeyRow | null> {
  // One statement: the row is locked, and requests wait for each further one.
  return keys.first(
    sql,
    `UPDATE api_key k SET
       name = coalesce($3, k.name),
       user_disabled = coalesce($4, k.user_disabled),
       limit_micro = CASE WHEN $5 THEN $6 ELSE k.limit_micro END,
       limit_reset = coalesce($7, k.limit_reset),
       expires_at = CASE WHEN $9 THEN to_timestamp($10::float8 / 1000) ELSE k.expires_at END,
       restrictions = nullif(jsonb_strip_nulls(coalesce(k.restrictions, '{}') || $11::jsonb), '{}'),
       updated_at = greatest(k.created_at, k.updated_at, to_timestamp($8::float8 / 1000))
     FROM account a
     WHERE a.id = k.account_id AND k.hash = $1 AND k.account_id = $2
     RETURNING ${keys.columns}`,
    [
      Buffer.from(hash, 'hex'),
      accountId,
      change.name ?? null,
      change.userDisabled ?? null,
      change.limitMicro !== undefined,
      change.limitMicro ?? null,
      change.limitReset === undefined ? null : limitResets.indexOf(change.limitReset),
      atMs,
      change.expiresAtMs !== undefined,
      change.expiresAtMs ?? null,
      JSON.stringify(change.restrictions ?? {}),
    ],
  );
}
