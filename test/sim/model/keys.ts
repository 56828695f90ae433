import { leadOfAccount } from '../../../src/wire/ids/account-hash.ts';
import { numbersOf } from './arrays.ts';
import { Selection, type Statement } from './statement.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

type KeyRow = Tables['api_key'];

const selection = new Selection({
  id: 'k.id',
  hash: 'k.hash',
  accountId: 'k.account_id',
  kind: 'k.kind',
  name: 'k.name',
  label: 'k.label',
  userDisabled: 'k.user_disabled',
  adminSuspended: '(k.admin_suspended OR a.suspended_at IS NOT NULL)',
  revokedAtMs: 'k.revoked_at',
  expiresAtMs: 'k.expires_at',
  limitMicro: 'k.limit_micro',
  limitReset: 'k.limit_reset',
  createdAtMs: 'k.created_at',
  updatedAtMs: 'k.updated_at',
});
const columns = selection.text;
const places = new Selection({ accountId: 'account_id', id: 'key_id' });
const keys = 'api_key k JOIN account a ON a.id = k.account_id';

function byHash(tx: Transaction, hash: unknown): KeyRow | undefined {
  const hex = (hash as Buffer).toString('hex');
  for (const [, row] of tx.rows('api_key')) if (row.hash === hex) return row;
  return undefined;
}

const sums =
  'coalesce(sum(cost) FILTER (WHERE day = $3), 0)::bigint AS daily, coalesce(sum(cost) FILTER (WHERE day >= $4 AND day < $5), 0)::bigint AS weekly, coalesce(sum(cost) FILTER (WHERE day >= $6 AND day < $7), 0)::bigint AS monthly, coalesce(sum(cost), 0)::bigint AS total';

/** What a key has spent, and on how many days. */
function spendOf(tx: Transaction, account: unknown, key: unknown, dates: readonly unknown[]) {
  const [today = '', week = '', weekEnd = '', month = '', monthEnd = ''] = dates.map(String);
  const spent = { daily: 0n, weekly: 0n, monthly: 0n, total: 0n };
  let days = 0;
  for (const [, row] of tx.rows('key_usage_day')) {
    if (row.account_id !== Number(account) || row.key_id !== Number(key)) continue;
    days += 1;
    if (row.day === today) spent.daily += row.cost;
    if (row.day >= week && row.day < weekEnd) spent.weekly += row.cost;
    if (row.day >= month && row.day < monthEnd) spent.monthly += row.cost;
    spent.total += row.cost;
  }
  return { sums: spent, days };
}

function rawOf(row: KeyRow): object {
  return selection.of(row, {
    id: BigInt(row.id),
    hash: Buffer.from(row.hash, 'hex'),
    accountId: BigInt(row.account_id),
    // No account is suspended in a simulated world: a key is suspended by itself.
    adminSuspended: row.admin_suspended,
    limitMicro: row.limit_micro === null ? null : String(row.limit_micro),
  });
}

function placeOf({ account_id, key_id }: Tables['key_directory']): object {
  return { accountId: BigInt(account_id), id: BigInt(key_id) };
}

/** A key is joined with its account: no foreign key demands that it exists. */
function hasAccount(tx: Transaction, { account_id }: KeyRow): boolean {
  return tx.get('account', String(account_id)) !== undefined;
}

function keysAmong(tx: Transaction, accounts: readonly number[], ids: readonly number[]): readonly object[] {
  return [...new Set(ids)].flatMap((id) => {
    const row = tx.get('api_key', String(id));
    const isFound = row !== undefined && accounts.includes(row.account_id) && hasAccount(tx, row);
    return isFound ? [rawOf(row)] : [];
  });
}

function lockOf(tx: Transaction, hash: unknown): readonly string[] {
  const row = byHash(tx, hash);
  return row === undefined ? [] : [`key ${row.id}`];
}

function latest(...instants: readonly (number | null)[]): number {
  return Math.max(...instants.filter((instant) => instant !== null));
}

/** The statements about keys and what they spent. */
export const keyStatements: readonly Statement[] = [
  {
    text: 'INSERT INTO api_key (hash, account_id, kind, name, label, limit_micro, limit_reset, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), to_timestamp($9::float8 / 1000)) RETURNING id',
    run: (tx, [hash, account, kind, name, label, limit, reset, expires, created]) => {
      // A number that was drawn is used, even if the row is not written.
      const id = tx.store.nextNumber('api_key');
      tx.put('api_key', String(id), {
        id,
        hash: (hash as Buffer).toString('hex'),
        account_id: Number(account),
        kind: Number(kind),
        name: String(name),
        label: String(label),
        user_disabled: false,
        admin_suspended: false,
        revoked_at: null,
        expires_at: expires === null ? null : Number(expires),
        limit_micro: limit === null ? null : BigInt(limit as bigint),
        limit_reset: Number(reset),
        created_at: Number(created),
        updated_at: null,
      });
      return [{ id: BigInt(id) }];
    },
  },
  {
    text: 'INSERT INTO key_directory (hash, key_id, account_id) VALUES ($1, $2, $3)',
    run: (tx, [hash, id, account]) => {
      const hex = (hash as Buffer).toString('hex');
      if (tx.get('key_directory', hex) !== undefined) throw new ServerError('23505', 'key_directory_pkey');
      tx.put('key_directory', hex, { hash: hex, key_id: Number(id), account_id: Number(account) });
      return [];
    },
  },
  {
    text: `SELECT ${places.text} FROM key_directory WHERE hash = $1`,
    run: (tx, [hash]) => {
      const row = tx.get('key_directory', (hash as Buffer).toString('hex'));
      return row === undefined ? [] : [placeOf(row)];
    },
  },
  {
    text: 'SELECT DISTINCT account_id FROM key_directory WHERE (hashint8(account_id) >> 20) & 4095 = $1',
    run: (tx, [lead]) => {
      const accounts = [...tx.rows('key_directory')].map(([, { account_id }]) => account_id);
      const led = new Set(accounts.filter((id) => leadOfAccount(id) === Number(lead)));
      return [...led].map((id) => ({ account_id: BigInt(id) }));
    },
  },
  {
    text: 'SELECT id, account_id, created_at FROM api_key WHERE account_id = ANY($1::bigint[]) AND id = ANY($2::bigint[])',
    run: (tx, [accounts, ids]) => {
      const among = new Set(numbersOf(accounts));
      return [...new Set(numbersOf(ids))].flatMap((id) => {
        const row = tx.get('api_key', String(id));
        if (row === undefined || !among.has(row.account_id)) return [];
        return [{ id: BigInt(row.id), account_id: BigInt(row.account_id), created_at: row.created_at }];
      });
    },
  },
  {
    text: `SELECT ${places.text} FROM key_directory WHERE key_id = ANY ($1::bigint[])`,
    run: (tx, [ids]) => {
      const wanted = new Set(numbersOf(ids));
      return [...tx.rows('key_directory')].flatMap(([, row]) =>
        wanted.has(row.key_id) ? [placeOf(row)] : [],
      );
    },
  },
  {
    text: `SELECT ${columns} FROM ${keys} WHERE k.account_id = $1 AND k.id = $2`,
    run: (tx, [account, id]) => keysAmong(tx, [Number(account)], [Number(id)]),
  },
  {
    text: `SELECT ${columns} FROM ${keys} WHERE k.account_id = ANY ($1::bigint[]) AND k.id = ANY ($2::bigint[])`,
    run: (tx, [accounts, ids]) => keysAmong(tx, numbersOf(accounts), numbersOf(ids)),
  },
  {
    text: 'UPDATE api_key SET revoked_at = coalesce(revoked_at, to_timestamp($3::float8 / 1000)), updated_at = greatest(created_at, updated_at, to_timestamp($3::float8 / 1000)) WHERE account_id = $1 AND id = $2 RETURNING id',
    locks: (_tx, [, id]) => [`key ${String(id)}`],
    run: (tx, [account, id, at]) => {
      const row = tx.get('api_key', String(id));
      if (row === undefined || row.account_id !== Number(account)) return [];
      const revokedAt = row.revoked_at ?? Number(at);
      const updatedAt = latest(row.created_at, row.updated_at, Number(at));
      tx.put('api_key', String(row.id), { ...row, revoked_at: revokedAt, updated_at: updatedAt });
      return [{ id: BigInt(row.id) }];
    },
  },
  {
    text: `UPDATE api_key k SET name = coalesce($3, k.name), user_disabled = coalesce($4, k.user_disabled), limit_micro = CASE WHEN $5 THEN $6 ELSE k.limit_micro END, limit_reset = coalesce($7, k.limit_reset), expires_at = CASE WHEN $9 THEN to_timestamp($10::float8 / 1000) ELSE k.expires_at END, updated_at = greatest(k.created_at, k.updated_at, to_timestamp($8::float8 / 1000)) FROM account a WHERE a.id = k.account_id AND k.hash = $1 AND k.account_id = $2 RETURNING ${columns}`,
    locks: (tx, [hash]) => lockOf(tx, hash),
    run: (tx, [hash, account, name, disabled, changesLimit, limit, reset, at, changesExpiry, expiry]) => {
      const row = byHash(tx, hash);
      if (row === undefined || row.account_id !== Number(account) || !hasAccount(tx, row)) return [];
      const limitMicro = limit === null ? null : BigInt(limit as bigint);
      const next: KeyRow = {
        ...row,
        name: name === null ? row.name : String(name),
        user_disabled: disabled === null ? row.user_disabled : Boolean(disabled),
        limit_micro: changesLimit === true ? limitMicro : row.limit_micro,
        limit_reset: reset === null ? row.limit_reset : Number(reset),
        expires_at: changesExpiry === true ? (expiry === null ? null : Number(expiry)) : row.expires_at,
        updated_at: latest(row.created_at, row.updated_at, Number(at)),
      };
      tx.put('api_key', String(row.id), next);
      return [rawOf(next)];
    },
  },
  {
    text: `SELECT ${sums} FROM key_usage_day WHERE account_id = $1 AND key_id = $2`,
    run: (tx, [account, key, ...days]) => [spendOf(tx, account, key, days).sums],
  },
  {
    text: `SELECT key_id, ${sums} FROM unnest($1::bigint[], $2::bigint[]) k (account, id) JOIN key_usage_day ON account_id = k.account AND key_id = k.id WHERE account_id = ANY($1::bigint[]) GROUP BY key_id`,
    run: (tx, [accounts, keys, ...days]) =>
      numbersOf(keys).flatMap((key, at) => {
        const spent = spendOf(tx, numbersOf(accounts)[at], key, days);
        return spent.days === 0 ? [] : [{ key_id: BigInt(key), ...spent.sums }];
      }),
  },
];
