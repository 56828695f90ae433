import type * as apps from '../../../src/generations/apps-sql.ts';
import type * as hours from '../../../src/ledger/late-hours-sql.ts';
import { entryKindNumber } from '../../../src/ledger/ledger-sql.ts';
import type * as quarantine from '../../../src/ledger/quarantine-sql.ts';
import type * as real from '../../../src/ledger/settlement-statements-sql.ts';
import type * as usages from '../../../src/ledger/usage-sql.ts';
import type { GenerationRow } from '../../../src/store/generation-row.ts';
import type { Statement } from '../../../src/store/pipeline.ts';
import { sqlOver } from '../../../src/store/sql.ts';
import { isoDay } from '../../../src/time/period.ts';
import { balancesAmong, move, putEntry } from './money.ts';
import { on, statementOf } from './step.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

export * from '../../../src/generations/apps-sql.ts';
export * from '../../../src/ledger/late-hours-sql.ts';
export * from '../../../src/ledger/quarantine-sql.ts';
export * from '../../../src/ledger/settlement-statements-sql.ts';
export * from '../../../src/ledger/usage-sql.ts';

// No month is dropped in these worlds, and no settlement is put aside.
export const readPrunedMonths = statementOf(() => []) as unknown as string;
export const findQuarantined: typeof quarantine.findQuarantined = (sql) => on(sql, () => new Set());
// Rollups are derived, and not part of the model.
export const markLateHours: typeof hours.markLateHours = () => null;

export const countedApps: typeof apps.countedApps = async (client, rows, known) => {
  const unknown = rows
    .flatMap(({ accountId, app }) =>
      app === null || known?.has(accountId, app.id) === true ? [] : [{ account_id: accountId, id: app.id }],
    )
    .sort((a, b) => a.account_id - b.account_id || a.id - b.id);
  const keyOf = ({ account_id, id }: Tables['app']): string => `${account_id}/${id}`;
  if (unknown.length > 0)
    await on(
      sqlOver(client),
      (tx) => {
        for (const app of unknown) tx.put('app', keyOf(app), app);
      },
      () => unknown.map((app) => `app ${keyOf(app)}`),
    );
  return {
    idOf: ({ app }) => app?.id ?? 0,
    noteStored() {
      for (const { account_id, id } of unknown) known?.add(account_id, id);
    },
  };
};

/** Inserts the records that are not there yet, and returns them. */
function insertAbsent<Row extends GenerationRow>(
  tx: Transaction,
  rows: readonly Row[],
  appIdOf: (row: Row) => number,
): readonly Row[] {
  return rows.filter((row) => {
    const key = keyOf(row);
    if (tx.get('generation', key) !== undefined) return false;
    if (row.cost < 0n) throw new ServerError('23514', 'cost_is_not_negative');
    tx.put('generation', key, {
      ...{ account_id: row.accountId, id: row.uuid, key_id: row.keyId, app_id: appIdOf(row) },
      ...{ created_at: row.createdAtMs, settled_at: row.settledAtMs, day: isoDay(row.day) },
      ...{ status: row.status, error_type: row.errorType, finish_reason: row.finishReason },
      ...{ model: row.model, provider: row.provider, detail: row.detail },
      ...{ prompt_tokens: row.promptTokens, completion_tokens: row.completionTokens },
      ...{ cost: row.cost, price_version: row.priceVersion },
    });
    return true;
  });
}

function keyOf({ accountId, uuid }: GenerationRow): string {
  return `${accountId}/${uuid}`;
}

function inserting(rows: readonly GenerationRow[], run: (tx: Transaction) => readonly object[]): Statement {
  return statementOf(run, {
    locks: () => rows.map((row) => `generation ${keyOf(row)}`),
    batch: rows.map(({ uuid }) => uuid),
  });
}

export const insertNew: typeof real.insertNew = (rows, appIdOf) =>
  inserting(rows, (tx) => {
    if (insertAbsent(tx, rows, appIdOf).length < rows.length)
      throw new ServerError('23505', 'generation_pkey');
    return [];
  });

export const insertUnlessThere: typeof real.insertUnlessThere = (rows, appIdOf) =>
  inserting(rows, (tx) => insertAbsent(tx, rows, appIdOf).map(({ uuid }) => ({ id: uuid })));

export const readSettled: typeof real.readSettled = (rows) =>
  statementOf((tx) =>
    rows.flatMap(({ accountId, uuid }) => {
      const entry = tx.get('ledger', `${accountId}/${uuid}`);
      return entry === undefined ? [] : [{ id: uuid, amount: entry.amount }];
    }),
  );

export const readGivenUp: typeof real.readGivenUp = (rows) =>
  statementOf((tx) =>
    rows.flatMap(({ accountId, uuid }) => {
      const record = tx.get('generation', `${accountId}/${uuid}`);
      const isGivenUp = record?.status === 500 && record.cost === 0n && record.model !== null;
      return isGivenUp ? [{ id: uuid }] : [];
    }),
  );

export const readKeyAges: typeof real.readKeyAges = (rows) =>
  statementOf((tx) =>
    rows.flatMap(({ keyId }) => {
      const key = tx.get('api_key', String(keyId));
      return key === undefined ? [] : [key];
    }),
  );

export const debit: typeof real.debit = (bills) =>
  statementOf(
    (tx) =>
      bills.map(({ accountId, rows }) => {
        const cost = rows.reduce((sum, row) => sum + row.cost, 0n);
        return balanceOf(move(tx, accountId, { usage: cost, entries: rows.length }));
      }),
    { locks: () => bills.map(({ accountId }) => `balance ${accountId}`) },
  );

export const readBalances: typeof real.readBalances = (accounts) =>
  statementOf((tx) => balancesAmong(tx, accounts).map(balanceOf));

function balanceOf({ account_id, credits, usage, version, expired_until }: Tables['account_balance']) {
  return { accountId: account_id, credits, usage, version, expiredUntilMs: expired_until };
}

export const entries: typeof real.entries = (bills) =>
  statementOf((tx) => {
    for (const { accountId, rows } of bills)
      for (const [at, row] of rows.entries())
        putEntry(
          tx,
          {
            ...{ account_id: accountId, key_id: row.keyId, kind: entryKindNumber('usage') },
            ...{ amount: -row.cost, generation_id: row.uuid, created_at: row.settledAtMs },
            ...{ lot_id: null, idempotency_key: null, memo: null, refund_of: null },
          },
          rows.length - 1 - at,
        );
    return [];
  });

export const addKeyUsage: typeof usages.addKeyUsage = (fresh) => {
  const dayOf = ({ accountId, keyId, day }: (typeof fresh)[number]): string =>
    `${accountId}/${keyId}/${isoDay(day)}`;
  return statementOf(
    (tx) => {
      for (const row of fresh) {
        const before = tx.get('key_usage_day', dayOf(row));
        tx.put('key_usage_day', dayOf(row), {
          ...{ account_id: row.accountId, key_id: row.keyId, day: isoDay(row.day) },
          cost: (before?.cost ?? 0n) + row.cost,
          returned: before?.returned ?? 0n,
          requests: (before?.requests ?? 0n) + 1n,
          prompt_tokens: (before?.prompt_tokens ?? 0n) + BigInt(row.promptTokens),
          completion_tokens: (before?.completion_tokens ?? 0n) + BigInt(row.completionTokens),
        });
      }
      return [];
    },
    { locks: () => [...new Set(fresh.map(dayOf))].sort().map((key) => `key_usage_day ${key}`) },
  );
};

export const returnToKey: typeof usages.returnToKey = (sql, { accountId, generation, amount }) => {
  const dayOf = (tx: Transaction): string => {
    const row = tx.get('generation', `${accountId}/${generation}`);
    return `${accountId}/${row?.key_id}/${row?.day}`;
  };
  return on(
    sql,
    (tx) => {
      const row = tx.get('key_usage_day', dayOf(tx));
      if (row === undefined) throw new Error('no day of usage');
      const returned = row.returned + amount;
      if (returned > row.cost) throw new ServerError('23514', 'returned_is_part_of_cost');
      tx.put('key_usage_day', dayOf(tx), { ...row, returned });
      return row.key_id;
    },
    (tx) => [`key_usage_day ${dayOf(tx)}`],
  );
};
