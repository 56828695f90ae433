import type * as accounts from '../../../src/accounts/accounts-sql.ts';
import type * as generations from '../../../src/generations/generations-sql.ts';
import type * as ledger from '../../../src/ledger/ledger-sql.ts';
import { entryKindNumber, entryKinds } from '../../../src/ledger/ledger-sql.ts';
import type * as lots from '../../../src/ledger/lots-sql.ts';
import { on } from './step.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

export * from '../../../src/accounts/accounts-sql.ts';
export * from '../../../src/generations/generations-sql.ts';
export * from '../../../src/ledger/ledger-sql.ts';
export * from '../../../src/ledger/lots-sql.ts';

type Balance = Tables['account_balance'];

const noBalance = {
  ...{ credits: 0n, usage: 0n, lot_applied: 0n },
  ...{ entries: 0, version: 0n, expired_until: null },
};

/** Adds to a balance, which a settlement creates when it is not there. */
export function move(tx: Transaction, accountId: number, added: Partial<Balance>): Balance {
  const before: Balance = tx.get('account_balance', String(accountId)) ?? {
    account_id: accountId,
    ...noBalance,
  };
  const row: Balance = {
    account_id: accountId,
    credits: before.credits + (added.credits ?? 0n),
    usage: before.usage + (added.usage ?? 0n),
    lot_applied: before.lot_applied + (added.lot_applied ?? 0n),
    entries: before.entries + (added.entries ?? 0),
    version: before.version + 1n,
    expired_until: later(before.expired_until, added.expired_until ?? null),
  };
  if (row.credits < 0n || row.usage < 0n) throw new ServerError('23514', 'totals_only_grow_from_zero');
  if (row.lot_applied < 0n || row.lot_applied > row.usage)
    throw new ServerError('23514', 'lots_follow_usage');
  tx.put('account_balance', String(accountId), row);
  return row;
}

/** The later of two instants, either of which may be unknown. */
function later(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Behind the change of the balance, which has counted the entry and `rest` others after it. */
export function putEntry(tx: Transaction, entry: Omit<Tables['ledger'], 'id'>, rest: number): number {
  if (entry.amount === 0n) throw new ServerError('23514', 'entry_moves_money');
  if (entry.kind !== 4 && entry.kind !== 6 && [1, 2, 5].includes(entry.kind) !== entry.amount > 0n)
    throw new ServerError('23514', 'entry_sign_follows_kind');
  if ((entry.kind === 5) !== (entry.refund_of !== null))
    throw new ServerError('23514', 'refund_names_its_generation');
  const id = (tx.get('account_balance', String(entry.account_id))?.entries ?? 0) - rest;
  // One entry per generation: its key is the unique index.
  const key =
    entry.generation_id === null ? `${entry.account_id}:${id}` : `${entry.account_id}/${entry.generation_id}`;
  if (tx.get('ledger', key) !== undefined) throw new ServerError('23505', 'ledger_one_entry_per_generation');
  if (entry.idempotency_key !== null)
    for (const [, { account_id, idempotency_key }] of tx.rows('ledger'))
      if (account_id === entry.account_id && idempotency_key === entry.idempotency_key)
        throw new ServerError('23505', 'ledger_idempotency');
  tx.put('ledger', key, { ...entry, id });
  return id;
}

/** The balances of these accounts in their order; one that does not exist is left out. */
export function balancesAmong(tx: Transaction, ids: readonly number[]): readonly Balance[] {
  return [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => tx.get('account_balance', String(id)) ?? []);
}

function lotsWhere(tx: Transaction, holds: (lot: Tables['credit_lot']) => boolean) {
  return [...tx.rows('credit_lot')]
    .map(([, row]) => row)
    .filter(holds)
    .sort(
      (a, b) =>
        a.account_id - b.account_id ||
        (a.expires_at ?? Number.MAX_VALUE) - (b.expires_at ?? Number.MAX_VALUE) ||
        a.id - b.id,
    );
}

function isDueAt({ remaining, expires_at }: Tables['credit_lot'], atMs: number): boolean {
  return remaining > 0n && expires_at !== null && expires_at <= atMs;
}

/** Two statements, as the real one: the account stays when its balance is there already. */
export const insertAccount: typeof accounts.insertAccount = async (sql, { name }) => {
  const id = await on(sql, (tx) => {
    const drawn = tx.store.nextNumber('account');
    tx.put('account', String(drawn), { id: drawn, name });
    return drawn;
  });
  await on(sql, (tx) => {
    if (tx.get('account_balance', String(id)) !== undefined)
      throw new ServerError('23505', 'account_balance_pkey');
    tx.put('account_balance', String(id), { account_id: id, ...noBalance });
  });
  return id;
};

export const isClosed: typeof accounts.isClosed = (sql) =>
  // No account is closed in a simulated world, so nobody waits for this lock.
  on(sql, () => false);

export const findBalances: typeof accounts.findBalances = (sql, ids) =>
  on(sql, (tx) =>
    balancesAmong(tx, ids).map(({ account_id: accountId, credits, usage, version }) => ({
      ...{ accountId, credits, usage, version },
    })),
  );

export const lockBalances: typeof lots.lockBalances = (sql, ids) =>
  on(
    sql,
    (tx) =>
      balancesAmong(tx, ids).map(({ account_id: accountId, credits, usage, lot_applied: lotApplied }) => ({
        ...{ accountId, credits, usage, lotApplied },
      })),
    () => ids.toSorted((a, b) => a - b).map((id) => `balance ${id}`),
  );

export const lockBalance: typeof lots.lockBalance = async (sql, id) =>
  (await lockBalances(sql, [id]))[0] ?? null;

export const openLots: typeof lots.openLots = (sql, accountIds) =>
  on(sql, (tx) =>
    lotsWhere(tx, (lot) => accountIds.includes(lot.account_id) && lot.remaining > 0n).map((lot) => ({
      accountId: lot.account_id,
      id: lot.id,
      remaining: lot.remaining,
      expiresAtMs: lot.expires_at,
    })),
  );

export const setRemainders: typeof lots.setRemainders = (sql, changed) =>
  on(sql, (tx) => {
    for (const { id, remaining } of changed) {
      const row = tx.get('credit_lot', String(id));
      if (remaining < 0n) throw new ServerError('23514', 'lot_remainder_is_part_of_it');
      if (row !== undefined) tx.put('credit_lot', String(id), { ...row, remaining });
    }
  });

export const insertLot: typeof lots.insertLot = (sql, { accountId, kind, amountMicro: amount, ...when }) =>
  on(sql, (tx) => {
    const { expiresAtMs, atMs } = when;
    const id = tx.store.nextNumber('credit_lot');
    tx.put('credit_lot', String(id), {
      ...{ id, account_id: accountId, amount, remaining: amount },
      ...{ expires_at: expiresAtMs, granted_at: atMs },
    });
    return { lotId: id, lotDigest: 0n };
  });

export const expiredLots: typeof lots.expiredLots = (sql, accountIds) =>
  on(sql, (tx) => {
    const expired = new Map<number, bigint>();
    for (const [, { account_id, kind, lot_id, amount }] of tx.rows('ledger'))
      if (kind === entryKindNumber('expiry') && lot_id !== null && accountIds.includes(account_id))
        expired.set(lot_id, (expired.get(lot_id) ?? 0n) - amount);
    return lotsWhere(tx, ({ id }) => (expired.get(id) ?? 0n) > 0n).map((lot) => ({
      accountId: lot.account_id,
      id: lot.id,
      grantedAtMs: lot.granted_at,
      expiresAtMs: lot.expires_at ?? 0,
      left: expired.get(lot.id) ?? 0n,
    }));
  });

export const lotsDue: typeof lots.lotsDue = (sql, atMs) =>
  on(sql, (tx) => {
    const nowMs = tx.store.now();
    return { nowMs, isDue: lotsWhere(tx, (lot) => isDueAt(lot, atMs ?? nowMs)).length > 0 };
  });

export const accountsWithDueLots: typeof lots.accountsWithDueLots = (sql, atMs, { after, limit }) =>
  on(sql, (tx) => {
    const due = lotsWhere(tx, (lot) => isDueAt(lot, atMs) && lot.account_id > after);
    return [...new Set(due.map(({ account_id }) => account_id))].slice(0, limit);
  });

export const findCost: typeof lots.findCost = (sql, uuid) =>
  on(sql, (tx) => {
    // Only accounts with a key are looked at.
    const accounts = new Set([...tx.rows('key_directory')].map(([, { account_id }]) => account_id));
    const row = [...tx.rows('generation')]
      .map(([, each]) => each)
      .find(({ id, account_id }) => id === uuid && accounts.has(account_id));
    return row === undefined ? null : { accountId: row.account_id, cost: row.cost };
  });

export const findEarlierEntry: typeof ledger.findEarlierEntry = async (sql, wanted) =>
  wanted.idempotencyKey === null
    ? null
    : on(sql, (tx) => {
        for (const [, row] of tx.rows('ledger')) {
          if (row.account_id !== wanted.accountId || row.idempotency_key !== wanted.idempotencyKey) continue;
          const expiresAtMs = tx.get('credit_lot', String(row.lot_id))?.expires_at ?? null;
          const isSame =
            row.kind === entryKindNumber(wanted.kind) &&
            (wanted.amount === null || row.amount === wanted.amount) &&
            row.memo === wanted.memo &&
            expiresAtMs === wanted.expiresAtMs &&
            row.refund_of === wanted.refundOf &&
            (row.key_id !== null) === (wanted.toKeyLimit ?? false);
          return {
            ...{ id: row.id, accountId: row.account_id, kind: entryKinds[row.kind - 1] ?? wanted.kind },
            ...{ amountMicro: row.amount, generationUuid: row.generation_id, memo: row.memo },
            ...{ createdAtMs: row.created_at, isSame },
          };
        }
        return null;
      });

export const refundedOf: typeof ledger.refundedOf = (sql, accountId, uuid) =>
  on(sql, (tx) => {
    let amount = 0n;
    for (const [, row] of tx.rows('ledger'))
      if (row.account_id === accountId && row.refund_of === uuid) amount += row.amount;
    return amount;
  });

export const post: typeof ledger.post = (sql, moves, entries) =>
  on(
    sql,
    (tx) => {
      const entriesOf = Map.groupBy(entries, ({ accountId }) => accountId);
      for (const { accountId, credits, usage, lotApplied, expiredUntilMs = null } of moves)
        if (tx.get('account_balance', String(accountId)) !== undefined)
          move(tx, accountId, {
            ...{ credits, usage, lot_applied: lotApplied },
            ...{ entries: entriesOf.get(accountId)?.length ?? 0, expired_until: expiredUntilMs },
          });
      return moves.flatMap(({ accountId }) => {
        const own = entriesOf.get(accountId) ?? [];
        return own.map((entry, at) =>
          putEntry(
            tx,
            {
              ...{ account_id: accountId, kind: entryKindNumber(entry.kind), amount: entry.amountMicro },
              ...{ generation_id: null, key_id: entry.keyId ?? null, lot_id: entry.lotId, memo: entry.memo },
              ...{ idempotency_key: entry.idempotencyKey, refund_of: entry.refundOf ?? null },
              created_at: entry.atMs,
            },
            own.length - 1 - at,
          ),
        );
      });
    },
    () => moves.map(({ accountId }) => `balance ${accountId}`),
  );

export const findGeneration: typeof generations.findGeneration = (sql, accountId, uuid) =>
  on(sql, (tx) => {
    const row = tx.get('generation', `${accountId}/${uuid}`);
    if (row === undefined) return null;
    return {
      uuid,
      accountId,
      keyId: row.key_id,
      createdAtMs: row.created_at,
      settledAtMs: row.settled_at,
      day: Date.parse(row.day) / 86_400_000,
      status: row.status,
      errorType: row.error_type,
      model: row.model,
      provider: row.provider,
      finishReason: row.finish_reason,
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      cost: row.cost,
      priceVersion: row.price_version,
      detail: row.detail,
    };
  });
