import type { Client } from 'pg';
import { type BalanceRow, balanceOf } from './accounts.ts';
import { type App, countedApps } from './apps.ts';
import {
  dateArray,
  int4Array,
  int8Array,
  int8ArrayOfNumbers,
  textArray,
  timestampArray,
  uuidArray,
} from './binary-arrays.ts';
import { entryKindNumber } from './ledger.ts';
import { type ShareRow, spendShares } from './spend-shares.ts';
import { addUsage } from './usage.ts';

/** The record of a request that has ended. */
export interface GenerationRow {
  /** 32 hex digits. */
  readonly uuid: string;
  readonly accountId: number;
  readonly keyId: number;
  readonly createdAtMs: number;
  readonly settledAtMs: number;
  /** The Seoul day of `settledAtMs`: the day the debit belongs to (decisions.md A-20). */
  readonly day: number;
  /** The HTTP status the client was given. */
  readonly status: number;
  readonly errorType: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly finishReason: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Micro-won; 0 for whatever is not billed. */
  readonly cost: bigint;
  readonly priceVersion: number | null;
  /** The rest of the record as JSON text. */
  readonly detail: string;
}

/** Everything that is written when a request ends: its record, the money it moves, and the app it counts for. */
export interface SettlementRow extends GenerationRow {
  readonly app: App | null;
}

/** What a settlement did. */
export interface SettlementResult {
  /** The balance of every account in the batch, as committed. */
  readonly balances: readonly BalanceRow[];
  /** The uuids that an earlier, unanswered attempt had already settled: they moved nothing this time. */
  readonly replayed: ReadonlySet<string>;
}

const columns =
  'account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail, app_id';

const insertGenerations = `
INSERT INTO generation (${columns})
SELECT account_id, id, key_id, created_at, settled_at, day, status::smallint, error_type, model, provider, finish_reason,
       prompt_tokens, completion_tokens, cost, price_version, detail::jsonb, app_id
FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::date[], $7::int[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::int[], $13::int[], $14::bigint[], $15::bigint[], $16::text[],
            $17::bigint[])
     AS b (${columns})
ON CONFLICT DO NOTHING RETURNING id`;

/** Accounts in id order: batches that lock them in any other order deadlock with one another. */
const debitAccounts = `
INSERT INTO account_balance AS a (account_id, balance, usage, entries, version)
SELECT account_id, -cost, cost, entries, 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) d (account_id, cost, entries)
ORDER BY account_id
ON CONFLICT (account_id) DO UPDATE
SET balance = a.balance + excluded.balance, usage = a.usage + excluded.usage, entries = a.entries + excluded.entries,
    version = a.version + 1`;

const insertEntries = `
INSERT INTO ledger (account_id, kind, amount, generation_id, key_id, created_at)
SELECT account_id, ${entryKindNumber('usage')}, -cost, generation_id, key_id, created_at
FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::timestamptz[]) e (account_id, cost, generation_id, key_id, created_at)`;

const readBalances =
  'SELECT account_id, credits, usage, version FROM account_balance WHERE account_id = ANY($1::bigint[])';

/**
 * Settles a batch in one transaction of portable statements: a generation that is already there moves nothing, so the same batch
 * may be tried again after an answer was lost. Every transaction takes its rows in one order, table by table and within a table
 * by key, so that batches wait for one another and never deadlock. Throws what the database throws; then nothing has moved, or, when
 * the connection was lost, all or nothing has. `nodeId` names the node of whose shares the batch spends, null when it has none.
 */
export async function settleBatch(
  client: Client,
  rows: readonly SettlementRow[],
  nodeId: number | null = null,
): Promise<SettlementResult> {
  await client.query('BEGIN');
  const appIdOf = await countedApps(client, rows);
  const inserted = await insertFresh(client, rows, appIdOf);
  // Taken out as it is met: a generation that stands twice in a batch moves its money once.
  const fresh = rows.filter((row) => inserted.delete(row.uuid));
  const billed = fresh.filter((row) => row.cost > 0n);
  if (billed.length > 0) await debit(client, billed);
  if (fresh.length > 0) await addUsage(client, fresh, appIdOf);
  if (billed.length > 0 && nodeId !== null) await spendShares(client, nodeId, spentOf(billed));
  const accounts = [...new Set(rows.map((row) => row.accountId))];
  const balances = await client.query({
    name: 'settle-balances',
    text: readBalances,
    values: [int8ArrayOfNumbers(accounts)],
  });
  await client.query('COMMIT');
  const moved = new Set(fresh);
  const replayed = new Set(rows.filter((row) => !moved.has(row)).map((row) => row.uuid));
  return { balances: balances.rows.map(balanceOf), replayed };
}

async function insertFresh(
  client: Client,
  rows: readonly SettlementRow[],
  appIdOf: (row: SettlementRow) => number,
): Promise<Set<string>> {
  const result = await client.query<{ id: string }>({
    name: 'settle-generations',
    text: insertGenerations,
    values: [
      int8ArrayOfNumbers(rows.map((row) => row.accountId)),
      uuidArray(rows.map((row) => row.uuid)),
      int8ArrayOfNumbers(rows.map((row) => row.keyId)),
      timestampArray(rows.map((row) => row.createdAtMs)),
      timestampArray(rows.map((row) => row.settledAtMs)),
      dateArray(rows.map((row) => row.day)),
      int4Array(rows.map((row) => row.status)),
      textArray(rows.map((row) => row.errorType)),
      textArray(rows.map((row) => row.model)),
      textArray(rows.map((row) => row.provider)),
      textArray(rows.map((row) => row.finishReason)),
      int4Array(rows.map((row) => row.promptTokens)),
      int4Array(rows.map((row) => row.completionTokens)),
      int8Array(rows.map((row) => row.cost)),
      int8ArrayOfNumbers(rows.map((row) => row.priceVersion)),
      textArray(rows.map((row) => row.detail)),
      int8ArrayOfNumbers(rows.map(appIdOf)),
    ],
  });
  return new Set(result.rows.map((row) => row.id.replaceAll('-', '')));
}

async function debit(client: Client, billed: readonly SettlementRow[]): Promise<void> {
  const sums = new Map<number, { cost: bigint; entries: number }>();
  for (const row of billed) {
    const sum = sums.get(row.accountId) ?? { cost: 0n, entries: 0 };
    sums.set(row.accountId, { cost: sum.cost + row.cost, entries: sum.entries + 1 });
  }
  const accounts = [...sums].sort(([a], [b]) => a - b);
  await client.query({
    name: 'settle-debit',
    text: debitAccounts,
    values: [
      int8ArrayOfNumbers(accounts.map(([id]) => id)),
      int8Array(accounts.map(([, sum]) => sum.cost)),
      int8ArrayOfNumbers(accounts.map(([, sum]) => sum.entries)),
    ],
  });
  await client.query({
    name: 'settle-entries',
    text: insertEntries,
    values: [
      int8ArrayOfNumbers(billed.map((row) => row.accountId)),
      int8Array(billed.map((row) => row.cost)),
      uuidArray(billed.map((row) => row.uuid)),
      int8ArrayOfNumbers(billed.map((row) => row.keyId)),
      timestampArray(billed.map((row) => row.settledAtMs)),
    ],
  });
}

/** What a batch takes of its accounts and keys, each once. */
function spentOf(billed: readonly SettlementRow[]): readonly ShareRow[] {
  const accounts = new Map<number, bigint>();
  const keys = new Map<number, bigint>();
  for (const { accountId, keyId, cost } of billed) {
    accounts.set(accountId, (accounts.get(accountId) ?? 0n) + cost);
    keys.set(keyId, (keys.get(keyId) ?? 0n) + cost);
  }
  return [
    ...[...accounts].map(([subject, amount]) => ({ kind: 'account' as const, subject, amount })),
    ...[...keys].map(([subject, amount]) => ({ kind: 'key' as const, subject, amount })),
  ];
}
