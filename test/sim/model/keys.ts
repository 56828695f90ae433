import type { KeyHash } from '../../../src/accounts/api-key.ts';
import type * as real from '../../../src/accounts/keys-sql.ts';
import { isoDay, limitResets, periodAt, seoulDayAt, seoulDayStartMs } from '../../../src/time/period.ts';
import { on } from './step.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

export * from '../../../src/accounts/keys-sql.ts';

type KeyRow = Tables['api_key'];

const kinds = ['inference', 'management'] as const;

export const insertKey: typeof real.insertKey = (sql, key) =>
  on(sql, (tx) => {
    // A number that was drawn is used, even if the row is not written.
    const id = tx.store.nextNumber('api_key');
    if (tx.get('key_directory', key.hash) !== undefined) throw new ServerError('23505', 'key_directory_pkey');
    tx.put('key_directory', key.hash, { hash: key.hash, key_id: id, account_id: key.accountId });
    tx.put('api_key', String(id), {
      ...{ id, hash: key.hash, account_id: key.accountId, kind: kinds.indexOf(key.kind) + 1 },
      ...{ name: key.name, label: key.label, user_disabled: false, admin_suspended: false },
      ...{ revoked_at: null, expires_at: key.expiresAtMs, limit_micro: key.limitMicro },
      ...{ limit_reset: limitResets.indexOf(key.limitReset), created_at: key.createdAtMs, updated_at: null },
      restrictions: restricted(null, key.restrictions),
    });
    return id;
  });

export const placeOfKey: typeof real.placeOfKey = (sql, hash) =>
  on(sql, (tx) => {
    const row = tx.get('key_directory', hash);
    return row === undefined ? null : { accountId: row.account_id, id: row.key_id };
  });

export const placesOfKeys: typeof real.placesOfKeys = (sql, ids) =>
  on(sql, (tx) =>
    [...tx.rows('key_directory')].flatMap(([, row]) =>
      ids.includes(row.key_id) ? [{ accountId: row.account_id, id: row.key_id }] : [],
    ),
  );

export const findKeyAt: typeof real.findKeyAt = (sql, place) =>
  on(sql, (tx) => keysAmong(tx, [place])[0] ?? null);

export const findKeysAt: typeof real.findKeysAt = async (sql, places) =>
  places.length === 0 ? [] : on(sql, (tx) => keysAmong(tx, places));

export const findKeyByHash: typeof real.findKeyByHash = async (sql, hash) => {
  const place = await placeOfKey(sql, hash);
  return place === null ? null : findKeyAt(sql, place);
};

export const findKeysById: typeof real.findKeysById = async (sql, ids) =>
  findKeysAt(sql, await placesOfKeys(sql, ids));

export const findKeyById: typeof real.findKeyById = async (sql, id) =>
  (await findKeysById(sql, [id]))[0] ?? null;

export const setRevoked: typeof real.setRevoked = (sql, { accountId, id }, atMs) =>
  on(
    sql,
    (tx) => {
      const row = tx.get('api_key', String(id));
      if (row?.account_id !== accountId) return false;
      const updated = latest(row.created_at, row.updated_at, atMs);
      tx.put('api_key', String(id), { ...row, revoked_at: row.revoked_at ?? atMs, updated_at: updated });
      return true;
    },
    () => [`key ${id}`],
  );

export const updateOwnKey: typeof real.updateOwnKey = (sql, accountId, hash, change, atMs) =>
  on(
    sql,
    (tx) => {
      const row = byHash(tx, hash);
      if (row?.account_id !== accountId || !hasAccount(tx, row)) return null;
      const { limitMicro = row.limit_micro, expiresAtMs = row.expires_at } = change;
      const reset = change.limitReset;
      const next: KeyRow = {
        ...row,
        name: change.name ?? row.name,
        user_disabled: change.userDisabled ?? row.user_disabled,
        limit_micro: limitMicro,
        limit_reset: reset === undefined ? row.limit_reset : limitResets.indexOf(reset),
        expires_at: expiresAtMs,
        restrictions: restricted(row.restrictions, change.restrictions),
        updated_at: latest(row.created_at, row.updated_at, atMs),
      };
      tx.put('api_key', String(row.id), next);
      return rowOf(next);
    },
    (tx) => {
      const row = byHash(tx, hash);
      return row === undefined ? [] : [`key ${row.id}`];
    },
  );

export const readKeySpend: typeof real.readKeySpend = (sql, key, day) =>
  on(sql, (tx) => spendOf(tx, key, day) ?? { daily: 0n, weekly: 0n, monthly: 0n, total: 0n });

export const readKeySpends: typeof real.readKeySpends = (sql, keys, day) =>
  on(
    sql,
    (tx) =>
      new Map(
        keys.flatMap((key) => {
          const spent = spendOf(tx, key, day);
          return spent === null ? [] : [[key.id, spent]];
        }),
      ),
  );

/** What a key has spent; null when it was never used. */
function spendOf(tx: Transaction, { accountId, id }: real.KeyPlace, day: number): real.KeySpendRow | null {
  const rows = [...tx.rows('key_usage_day')]
    .map(([, row]) => row)
    .filter((row) => row.account_id === accountId && row.key_id === id);
  if (rows.length === 0) return null;
  const within = (first: string, end: string): bigint =>
    rows.reduce((sum, row) => (row.day >= first && row.day < end ? sum + row.cost - row.returned : sum), 0n);
  const [week, month] = (['weekly', 'monthly'] as const).map((reset) => {
    const { startMs, endMs } = periodAt(reset, seoulDayStartMs(day));
    return within(isoDay(seoulDayAt(startMs)), isoDay(seoulDayAt(endMs)));
  });
  return {
    daily: within(isoDay(day), isoDay(day + 1)),
    weekly: week ?? 0n,
    monthly: month ?? 0n,
    total: within('', '9'),
  };
}

/** Restrictions after a change: null removes one. */
function restricted(
  before: real.KeyRestrictions | null,
  change: real.RestrictionChange = {},
): real.KeyRestrictions | null {
  const stated = Object.entries({ ...before, ...JSON.parse(JSON.stringify(change)) });
  const kept = stated.filter(([, value]) => value !== null);
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function rowOf(row: KeyRow): real.KeyRow {
  return {
    id: row.id,
    hash: row.hash as KeyHash,
    accountId: row.account_id,
    kind: kinds[row.kind - 1] ?? 'inference',
    name: row.name,
    label: row.label,
    userDisabled: row.user_disabled,
    // No account is suspended in a simulated world: a key is suspended by itself.
    adminSuspended: row.admin_suspended,
    revokedAtMs: row.revoked_at,
    expiresAtMs: row.expires_at,
    limitMicro: row.limit_micro,
    limitReset: limitResets[row.limit_reset] ?? 'never',
    restrictions: row.restrictions,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  };
}

function keysAmong(tx: Transaction, places: readonly real.KeyPlace[]): readonly real.KeyRow[] {
  return [...new Set(places.map(({ id }) => id))].flatMap((id) => {
    const row = tx.get('api_key', String(id));
    const isFound =
      row !== undefined &&
      places.some(({ accountId }) => accountId === row.account_id) &&
      hasAccount(tx, row);
    return isFound ? [rowOf(row)] : [];
  });
}

function byHash(tx: Transaction, hash: string): KeyRow | undefined {
  for (const [, row] of tx.rows('api_key')) if (row.hash === hash) return row;
  return undefined;
}

/** A key is joined with its account: no foreign key demands that it exists. */
function hasAccount(tx: Transaction, { account_id }: KeyRow): boolean {
  return tx.get('account', String(account_id)) !== undefined;
}

function latest(...instants: readonly (number | null)[]): number {
  return Math.max(...instants.filter((instant) => instant !== null));
}
