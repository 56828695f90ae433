import { balanceColumns } from '../accounts/accounts-sql.ts';
import {
  byteaArray,
  dateArray,
  int4Array,
  int8Array,
  int8ArrayOfNumbers,
  textArray,
  timestampArray,
  uuidArray,
} from '../store/binary-arrays.ts';
import { type ChainedEntry, entryText, linkOf, microseconds } from '../store/digests.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import type { Statement } from '../store/pipeline.ts';
import { column, type RowOf, recordOf } from '../store/record.ts';
import { entryKindNumber } from './ledger-sql.ts';
import { droppedMonthsSql } from './retention-sql.ts';

const usageKind = entryKindNumber('usage');

/** What a settlement reads of a balance. */
export const settledBalances = recordOf({
  ...balanceColumns,
  expiredUntilMs: column<number | null>('expired_until'),
});
export type SettledBalance = RowOf<typeof settledBalances>;

const columns =
  'account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail, app_id';

/**
 * A plain INSERT, so that a generation that is already stored is an error. With ON CONFLICT the
 * server looks for each row before it inserts it, locks it and writes a second record of it into
 * its log.
 */
const insertGenerations = `
INSERT INTO generation (${columns})
SELECT account_id, id, key_id, created_at, settled_at, day, status::smallint, error_type, model, provider, finish_reason,
       prompt_tokens, completion_tokens, cost, price_version, detail::json, app_id
FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::date[], $7::int[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::int[], $13::int[], $14::bigint[], $15::bigint[], $16::text[],
            $17::bigint[])
     AS b (${columns})`;

const insertAbsentGenerations = `${insertGenerations}
ON CONFLICT DO NOTHING RETURNING id`;

/** The ranges of ids whose records were dropped. */
export const readPrunedMonths = `SELECT from_id, to_id FROM ${droppedMonthsSql} m`;

const selectSettled =
  'SELECT generation_id AS id, amount FROM ledger WHERE account_id = ANY($1::bigint[]) AND generation_id = ANY($2::uuid[])';

/** `orphanFailure` names no model. */
const selectGivenUp =
  'SELECT id FROM generation WHERE account_id = ANY($1::bigint[]) AND id = ANY($2::uuid[]) AND cost = 0 AND status = 500 AND model IS NOT NULL';

/** Keys are where their account is, so that server can be asked. */
const selectKeys =
  'SELECT id, account_id, created_at FROM api_key WHERE account_id = ANY($1::bigint[]) AND id = ANY($2::bigint[])';

/** Accounts in id order: batches that lock them in another order deadlock with one another. */
const debitAccounts = `
INSERT INTO account_balance AS a (account_id, balance, usage, entries, version, chain)
SELECT account_id, -cost, cost, entries, 1, link
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) d (account_id, cost, entries, link)
ORDER BY account_id
ON CONFLICT (account_id) DO UPDATE
SET balance = a.balance + excluded.balance, usage = a.usage + excluded.usage, entries = a.entries + excluded.entries,
    version = a.version + 1, chain = sha256(a.chain || excluded.chain)
RETURNING ${settledBalances.columns}`;

/**
 * Runs after the debit, which has counted these entries: the last entry of an account gets the
 * number of its count. The condition tells an engine where they are.
 */
const insertEntries = `
INSERT INTO ledger (account_id, id, kind, amount, generation_id, key_id, created_at, record_digest, link_rest)
SELECT e.account_id, b.entries - e.link_rest, ${usageKind}, -e.cost, e.generation_id, e.key_id, e.created_at, e.record_digest, e.link_rest
FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::bigint[], $7::int[])
     e (account_id, cost, generation_id, key_id, created_at, record_digest, link_rest)
JOIN account_balance b ON b.account_id = e.account_id WHERE b.account_id = ANY($1::bigint[])`;

const selectBalances = `SELECT ${settledBalances.columns} FROM account_balance WHERE account_id = ANY($1::bigint[])`;

/**
 * Inserts records; fails with a unique violation when one of them is there already, or is twice
 * among them.
 */
export function insertNew<Row extends GenerationRow>(
  rows: readonly Row[],
  appIdOf: (row: Row) => number,
): Statement {
  return {
    name: 'settle-new-generations',
    text: insertGenerations,
    values: generationValues(rows, appIdOf),
  };
}

/** Inserts the records that are not there yet, and returns their ids. */
export function insertUnlessThere<Row extends GenerationRow>(
  rows: readonly Row[],
  appIdOf: (row: Row) => number,
): Statement {
  return {
    name: 'settle-generations',
    text: insertAbsentGenerations,
    values: generationValues(rows, appIdOf),
  };
}

/** The entries of these in the ledger: the id of the generation and the amount, in micro-won. */
export function readSettled(rows: readonly Pick<GenerationRow, 'accountId' | 'uuid'>[]): Statement {
  return { name: 'settled-generations', text: selectSettled, values: placesOf(rows) };
}

/**
 * Those that are recorded as failed by the process that served them: it gave up their charge, and the
 * client got no complete response.
 */
export function readGivenUp(rows: readonly Pick<GenerationRow, 'accountId' | 'uuid'>[]): Statement {
  return { name: 'given-up-generations', text: selectGivenUp, values: placesOf(rows) };
}

function placesOf(rows: readonly Pick<GenerationRow, 'accountId' | 'uuid'>[]): Statement['values'] {
  return [
    int8ArrayOfNumbers([...new Set(rows.map((row) => row.accountId))]),
    uuidArray(rows.map((row) => row.uuid)),
  ];
}

/** When the keys of these were created; one that does not exist is left out. */
export function readKeyAges(rows: readonly GenerationRow[]): Statement {
  return {
    name: 'settle-payers',
    text: selectKeys,
    values: [
      int8ArrayOfNumbers([...new Set(rows.map((row) => row.accountId))]),
      int8ArrayOfNumbers([...new Set(rows.map((row) => row.keyId))]),
    ],
  };
}

function generationValues<Row extends GenerationRow>(
  rows: readonly Row[],
  appIdOf: (row: Row) => number,
): readonly Buffer[] {
  return [
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
    textArray(rows.map((row) => readable(row.detail))),
    int8ArrayOfNumbers(rows.map(appIdOf)),
  ];
}

/**
 * What no text of the database can contain, as JSON.stringify escapes it: a zero, and half of a
 * surrogate pair.
 */
const unreadable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/**
 * The column takes any JSON, but SQL could not read these characters again. Throws RangeError for
 * them.
 */
function readable(json: string): string {
  if (json.includes('\\u') && unreadable.test(json))
    throw new RangeError('a detail has an unreadable character');
  return json;
}

/** What an account pays in a batch. */
export interface Bill<Row extends GenerationRow = GenerationRow> {
  readonly accountId: number;
  readonly rows: readonly Row[];
  /** The link that the entries make in the account's chain. */
  readonly link: Buffer;
}

/** The bills of the rows that cost something, in the order of their accounts. */
export function billsOf<Row extends GenerationRow>(
  billed: readonly Row[],
  digestOf: (row: Row) => bigint,
): readonly Bill<Row>[] {
  return [...Map.groupBy(billed, (row) => row.accountId)]
    .sort(([a], [b]) => a - b)
    .map(([accountId, rows]) => ({
      accountId,
      rows,
      link: linkOf(rows.map((row, at) => entryText(usageOf(row, digestOf(row)), rows.length - 1 - at))),
    }));
}

function usageOf(row: GenerationRow, recordDigest: bigint): ChainedEntry {
  return {
    accountId: row.accountId,
    kind: usageKind,
    amount: -row.cost,
    generationUuid: row.uuid,
    keyId: row.keyId,
    lotId: null,
    idempotencyKey: null,
    memo: null,
    createdUs: microseconds(row.settledAtMs),
    refundOf: null,
    recordDigest,
  };
}

/** Debits the accounts, and returns the balances. */
export function debit(bills: readonly Bill[]): Statement {
  return {
    name: 'settle-debit',
    text: debitAccounts,
    values: [
      int8ArrayOfNumbers(bills.map((bill) => bill.accountId)),
      int8Array(bills.map((bill) => bill.rows.reduce((sum, row) => sum + row.cost, 0n))),
      int8ArrayOfNumbers(bills.map((bill) => bill.rows.length)),
      byteaArray(bills.map((bill) => bill.link)),
    ],
  };
}

/** Appends the ledger entries of what was billed. */
export function entries<Row extends GenerationRow>(
  bills: readonly Bill<Row>[],
  digestOf: (row: Row) => bigint,
): Statement {
  const billed = bills.flatMap((bill) => bill.rows);
  return {
    name: 'settle-entries',
    text: insertEntries,
    values: [
      int8ArrayOfNumbers(billed.map((row) => row.accountId)),
      int8Array(billed.map((row) => row.cost)),
      uuidArray(billed.map((row) => row.uuid)),
      int8ArrayOfNumbers(billed.map((row) => row.keyId)),
      timestampArray(billed.map((row) => row.settledAtMs)),
      int8Array(billed.map(digestOf)),
      int4Array(bills.flatMap(({ rows }) => rows.map((_row, at) => rows.length - 1 - at))),
    ],
  };
}

/** Reads the balances of accounts that are not debited. */
export function readBalances(accounts: readonly number[]): Statement {
  return { name: 'settle-balances', text: selectBalances, values: [int8ArrayOfNumbers(accounts)] };
}
