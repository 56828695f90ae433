import type { Client, QueryResult } from 'pg';
import { type App, countedApps, type StoredApps } from '../generations/apps-sql.ts';
import { type CreditLeaseRow, spendLeases } from '../nodes/credit-leases-sql.ts';
import { mayBeDuplicate } from '../store/connection.ts';
import { generationDigest } from '../store/digests.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { Pipeline } from '../store/pipeline.ts';
import { isoOf, maxClockSkewMs } from '../time/clock.ts';
import { markLateHours } from './late-hours-sql.ts';
import { chargeExpired, type LateUsage } from './late-usage.ts';
import {
  billsOf,
  debit,
  entries,
  insertNew,
  insertUnlessThere,
  readBalances,
  readGivenUp,
  readKeyAges,
  readPrunedMonths,
  readSettled,
  type SettledBalance,
  settledBalances,
} from './settlement-statements-sql.ts';
import { addKeyUsage } from './usage-sql.ts';

/** Everything that is written when a request ends: its record, the money it moves, and its app. */
export interface SettlementRow extends GenerationRow {
  readonly app: App | null;
}

/** How a batch is settled. */
export interface SettlementOptions {
  /** The node whose credit leases the batch spends; null when it has none. */
  readonly nodeId?: number | null;
  /** Saves queries for known apps, and receives the apps that are stored now. */
  readonly storedApps?: StoredApps | null;
  /**
   * The rows of the batch that an earlier process left. It may have settled them: their records may
   * have been dropped since, so an absent record is not a new one. And the database may have been
   * restored from before: throws `LaterKey` for one that a later key would pay.
   */
  readonly leftovers?: readonly SettlementRow[];
  /** The present: rows of an earlier hour are noted for their rollups. Absent: every row is. */
  readonly nowMs?: number;
  /** Runs in the transaction, behind everything else; what it throws undoes the batch. */
  readonly beforeCommit?: () => Promise<void>;
  /** Called when COMMIT is sent: without a response from then on, the outcome is unknown. */
  readonly onCommit?: () => void;
}

/** The result of a settlement. */
export interface SettlementResult {
  /** The balance of every account in the batch, as committed. */
  readonly balances: readonly SettledBalance[];
  /**
   * The uuids that an earlier attempt without a response had already settled: they moved nothing
   * this time.
   */
  readonly replayed: ReadonlySet<string>;
}

/**
 * Settles a batch in one transaction of portable statements. A generation that is already there
 * moves nothing, so the same batch may be retried after a response was lost; throws `Uncharged` when
 * it is there without its charge. Every transaction
 * locks its rows in one order, table by table and within a table by key, so batches wait for one
 * another and never deadlock. Throws what the database throws; then nothing has moved, or, when the
 * connection was lost, all or nothing has.
 */
export async function settleBatch(
  client: Client,
  rows: readonly SettlementRow[],
  {
    nodeId = null,
    storedApps = null,
    leftovers = [],
    nowMs = Number.POSITIVE_INFINITY,
    beforeCommit = async () => {},
    onCommit = () => {},
  }: SettlementOptions = {},
): Promise<SettlementResult> {
  // Sorted, neighbours in the indexes follow one another, which saves a seventh of the inserts'
  // time. The rows of one account keep their order.
  const sorted = rows.toSorted((a, b) => a.accountId - b.accountId);
  const batch = {
    client,
    nodeId,
    storedApps,
    nowMs,
    leftovers: new Set(leftovers),
    beforeCommit,
    onCommit,
    rows: sorted,
  };
  if (leftovers.length > 0) return attempt(batch, 'partly settled');
  try {
    // Nearly every batch is new, and then only the end is waited for.
    return await attempt(batch, 'new');
  } catch (error) {
    if (!mayBeDuplicate(error)) throw error;
    await client.query('ROLLBACK');
    return attempt(batch, 'partly settled');
  }
}

interface Batch {
  readonly client: Client;
  readonly nodeId: number | null;
  readonly storedApps: StoredApps | null;
  readonly nowMs: number;
  readonly leftovers: ReadonlySet<SettlementRow>;
  readonly beforeCommit: () => Promise<void>;
  readonly onCommit: () => void;
  /** In the order of their accounts. */
  readonly rows: readonly SettlementRow[];
}

/**
 * Settles a batch; a `new` one fails with the duplicate when any of its generations is there
 * already.
 */
async function attempt(batch: Batch, as: 'new' | 'partly settled'): Promise<SettlementResult> {
  const { client, rows } = batch;
  const sent = new Pipeline(client);
  sent.send('BEGIN');
  const apps = await countedApps(client, rows, batch.storedApps);
  let fresh = rows;
  if (as === 'new') sent.send(insertNew(rows, apps.idOf));
  else {
    const ids = await insertAbsent(sent, rows, apps.idOf);
    // Deleted at the first match: a generation that is twice in a batch moves its money once.
    fresh = rows.filter((row) => ids.delete(row.uuid));
    await refuseUncharged(sent, rows, fresh);
    await refuseLaterKeys(
      sent,
      fresh.filter((row) => batch.leftovers.has(row)),
    );
  }
  const balances = sendMoves(sent, batch, fresh, apps.idOf);
  await sent.finished();
  const found = balancesOf(await Promise.all(balances));
  const late = lateUsage(fresh, found);
  const isMoved = late.length > 0 && (await chargeExpired(client, late));
  const left = isMoved ? balancesOf([await sent.query(readBalances(accountsOf(late)))]) : [];
  const moved = new Set(fresh);
  const replayed = new Set(rows.filter((row) => !moved.has(row)).map((row) => row.uuid));
  await batch.beforeCommit();
  batch.onCommit();
  await client.query('COMMIT');
  apps.noteStored();
  const again = new Set(left.map((row) => row.accountId));
  return {
    balances: [...found.filter((row) => !again.has(row.accountId)), ...left],
    replayed,
  };
}

/**
 * Inserts the records that are not there, and returns their ids. The records of a dropped month are
 * gone, so its ledger entry shows that a generation was settled. A generation without a cost needs
 * no record, since its month has none.
 */
async function insertAbsent(
  sent: Pipeline,
  rows: readonly SettlementRow[],
  appIdOf: (row: SettlementRow) => number,
): Promise<Set<string>> {
  const months = await sent.query<{ from_id: string; to_id: string }>(readPrunedMonths);
  const ranges = months.rows.map((month) => [plain(month.from_id), plain(month.to_id)] as const);
  const isPruned = ({ uuid }: SettlementRow): boolean =>
    ranges.some(([from, to]) => uuid >= from && uuid < to);
  const billed = rows.filter((row) => row.cost > 0n && isPruned(row));
  const entries = billed.length === 0 ? [] : (await sent.query<{ id: string }>(readSettled(billed))).rows;
  const settled = new Set(entries.map(({ id }) => plain(id)));
  const absent = rows.filter((row) => !isPruned(row) || (row.cost > 0n && !settled.has(row.uuid)));
  if (absent.length === 0) return new Set();
  const inserted = await sent.query<{ id: string }>(insertUnlessThere(absent, appIdOf));
  return new Set(inserted.rows.map(({ id }) => plain(id)));
}

/**
 * What an earlier process left names a key that was created after the request: the database was
 * restored from before the key of the request, and gave its number to a later one.
 */
export class LaterKey extends Error {
  override readonly name = 'LaterKey';
}

/**
 * A request that costs something is recorded without that charge: another process took its node for
 * dead and recorded it as failed (spec:money/5.9). Dropped, the charge would be lost.
 */
export class Uncharged extends Error {
  override readonly name = 'Uncharged';
}

/**
 * Of a row that moves nothing, the ledger has the charge, or it was given up: a journal whose sync
 * failed may keep it all the same. Throws `Uncharged` otherwise.
 */
async function refuseUncharged(
  sent: Pipeline,
  rows: readonly SettlementRow[],
  fresh: readonly SettlementRow[],
): Promise<void> {
  const isMoving = new Set(fresh);
  const replayed = rows.filter((row) => row.cost > 0n && !isMoving.has(row));
  if (replayed.length === 0) return;
  const entries = await sent.query<{ id: string; amount: bigint }>(readSettled(replayed));
  const costOf = new Map(entries.rows.map(({ id, amount }) => [plain(id), -amount]));
  for (const { uuid, cost } of fresh) if (cost > 0n) costOf.set(uuid, cost);
  const uncharged = replayed.filter(({ uuid, cost }) => costOf.get(uuid) !== cost);
  if (uncharged.length === 0) return;
  const { rows: found } = await sent.query<{ id: string }>(readGivenUp(uncharged));
  const givenUp = new Set(found.map(({ id }) => plain(id)));
  for (const { uuid } of uncharged) {
    if (givenUp.has(uuid)) continue;
    const charge = costOf.has(uuid) ? `with a charge of ${costOf.get(uuid)} micro-won` : 'without a charge';
    throw new Uncharged(
      `the request is recorded ${charge}: deduct what its cost lacks with naru credit adjust, then write it off`,
    );
  }
}

/** Of those that had been settled before none is given: they move nothing. */
async function refuseLaterKeys(sent: Pipeline, leftovers: readonly SettlementRow[]): Promise<void> {
  if (leftovers.length === 0) return;
  const { rows } = await sent.query<{ id: bigint; account_id: bigint; created_at: number }>(
    readKeyAges(leftovers),
  );
  const createdAt = new Map(rows.map((key) => [`${key.account_id}/${key.id}`, key.created_at]));
  for (const { accountId, keyId, createdAtMs } of leftovers) {
    const keyMs = createdAt.get(`${accountId}/${keyId}`) ?? createdAtMs;
    if (keyMs - createdAtMs > maxClockSkewMs)
      throw new LaterKey(
        `key ${keyId} was created at ${isoOf(keyMs)}, after the request of ${isoOf(createdAtMs)}: it is another key with the same number`,
      );
  }
}

function plain(uuid: string): string {
  return uuid.replaceAll('-', '');
}

/**
 * Sends what follows from records that are there for the first time; the balances come with the
 * results.
 */
function sendMoves(
  sent: Pipeline,
  { nodeId, nowMs, rows }: Batch,
  fresh: readonly SettlementRow[],
  appIdOf: (row: SettlementRow) => number,
): readonly Promise<QueryResult>[] {
  const billed = fresh.filter((row) => row.cost > 0n);
  const balances: Promise<QueryResult>[] = [];
  const others = new Set(rows.map((row) => row.accountId));
  const digests = new Map(fresh.map((row) => [row, generationDigest(row, appIdOf(row))]));
  const digestOf = (row: SettlementRow): bigint => digests.get(row) ?? 0n;
  if (billed.length > 0) {
    const bills = billsOf(billed, digestOf);
    for (const { accountId } of bills) others.delete(accountId);
    balances.push(sent.query(debit(bills)));
    sent.send(entries(bills, digestOf));
  }
  if (fresh.length > 0) sent.send(addKeyUsage(fresh, digestOf));
  const late = markLateHours(fresh, nowMs);
  if (late !== null) sent.send(late);
  if (billed.length > 0 && nodeId !== null) sent.send(spendLeases(nodeId, spentOf(billed)));
  if (others.size > 0) balances.push(sent.query(readBalances([...others])));
  return balances;
}

function balancesOf(results: readonly QueryResult[]): readonly SettledBalance[] {
  return results.flatMap(({ rows }) => rows.map((row) => settledBalances.of(row)));
}

/** Usage that was settled before credit of its account expired and is written after that. */
function lateUsage(
  fresh: readonly SettlementRow[],
  balances: readonly SettledBalance[],
): readonly LateUsage[] {
  // Most accounts have no credit that ever expired.
  const untilOf = new Map(
    balances.flatMap((row) => (row.expiredUntilMs === null ? [] : [[row.accountId, row.expiredUntilMs]])),
  );
  if (untilOf.size === 0) return [];
  return fresh.filter(
    ({ accountId, settledAtMs, cost }) =>
      cost > 0n && settledAtMs < (untilOf.get(accountId) ?? Number.NEGATIVE_INFINITY),
  );
}

function accountsOf(late: readonly LateUsage[]): readonly number[] {
  return [...new Set(late.map(({ accountId }) => accountId))];
}

/** What a batch takes from its accounts and keys, each once. */
function spentOf(billed: readonly SettlementRow[]): readonly CreditLeaseRow[] {
  const accounts = new Map<number, bigint>();
  const keys = new Map<number, { readonly accountId: number; readonly amount: bigint }>();
  for (const { accountId, keyId, cost } of billed) {
    accounts.set(accountId, (accounts.get(accountId) ?? 0n) + cost);
    keys.set(keyId, { accountId, amount: (keys.get(keyId)?.amount ?? 0n) + cost });
  }
  return [
    ...[...accounts].map(([id, amount]) => ({
      kind: 'account' as const,
      subject: id,
      accountId: id,
      amount,
    })),
    ...[...keys].map(([subject, of]) => ({ kind: 'key' as const, subject, ...of })),
  ];
}
