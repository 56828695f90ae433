import { join } from 'node:path';
import type { Account } from '../accounts/account.ts';
import { AccountCache } from '../accounts/account-cache.ts';
import type { Config } from '../config/config.ts';
import { Refusals } from '../inference/refusals.ts';
import type { JournalEvent } from '../journal/errors.ts';
import { Journal, type JournalOptions } from '../journal/journal.ts';
import type { Key } from '../keys/key.ts';
import { KeyCache } from '../keys/key-cache.ts';
import { KeptSegments } from '../ledger/kept-segments.ts';
import { Retention } from '../ledger/segment-retention.ts';
import type { SettlementResult, SettlementRow } from '../ledger/settlement-sql.ts';
import { Settlements } from '../ledger/settlements.ts';
import { describeError, type Log } from '../log/log.ts';
import type { SettlementObserver } from '../metrics/observers.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import { ChangeFeed } from '../nodes/change-feed.ts';
import { CreditLeases } from '../nodes/credit-leases.ts';
import { confirmFlush } from '../nodes/flush-sql.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { NodeRegistry } from '../nodes/node-registry.ts';
import { ReservationQueues } from '../nodes/reservation-queue.ts';
import { Reservation } from '../spending/reservation.ts';
import { SpendLimits } from '../spending/spend-limits.ts';
import { type ChangeTopic, lookedBack, seenUntilNow } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import type { HistoryWatch } from '../store/history-watch.ts';
import { type Clock, within } from '../time/clock.ts';

/** The maximum of idle accounts, and of idle keys, in memory: together some 160 MB (docs/scale.md). Others are cached only while in use. */
export const keptInMemory = 200_000;

/** The parts that accounting needs. */
export interface AccountingParts {
  readonly config: Config;
  readonly database: Database;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The current debt floor, positive. */
  readonly debtFloor: () => Krw;
  /** The node id and the journal of the data directory; read from the directory if absent. */
  readonly home?: string;
  readonly journal?: Partial<JournalOptions>;
  /** Detects that another database server replaced the one that memory was read from; null or absent: not checked. */
  readonly watch?: HistoryWatch | null;
  /** Called when the operator published a catalogue (`naru models publish`): the configuration must be reloaded. */
  readonly onPublished?: (() => void) | undefined;
  /** Called when another process took over the identity of the data directory: this one must stop. */
  readonly onSuperseded?: ((error: Error) => void) | undefined;
  /** The maximum of idle accounts and keys in memory; `keptInMemory` by default. */
  readonly cacheCapacity?: number;
  readonly observer?: SettlementObserver;
}

/** Everything that holds money and permissions to spend it, in sync with the database. */
export interface Accounting {
  readonly accounts: AccountCache;
  readonly keys: KeyCache;
  readonly settlements: Settlements;
  readonly journal: Journal;
  /** Settled journal segments that standbys may not have yet. */
  readonly keptSegments: KeptSegments;
  readonly feed: ChangeFeed;
  /** The other nodes of the database. */
  readonly nodes: NodeRegistry;
  /** The credit that this node may spend without asking the others. */
  readonly leases: CreditLeases;
  readonly spendLimits: SpendLimits;
  /** Records of rejected requests. */
  readonly refusals: Refusals;
  /** Requests that wait for a reservation. */
  readonly queues: ReservationQueues;
  /** Opens the reservation of a request; it reserves nothing yet. */
  openReservation(account: Account, key: Key): Reservation;
  /** Evicts some of the accounts and keys that were not used lately; called regularly. */
  evictIdle(): void;
  close(): Promise<void>;
}

/** Opens accounting; settles the journal of an earlier process before anything can read balances. */
export async function openAccounting(parts: AccountingParts): Promise<Accounting> {
  const { config, database, dataDir, clock, log, cacheCapacity: kept = keptInMemory } = parts;
  // A price may have been published after the configuration was read, which was before the database was open.
  const since = lookedBack(await seenUntilNow(database));
  let lastPublication = 0;
  const home = parts.home ?? nodeDir(dataDir);
  const owner = { database: await readDatabaseId(database), home };
  const nodes = await NodeRegistry.join({
    database,
    clock,
    log,
    home,
    keepsCharges: config.settlement.ack === 'journal',
    onSuperseded: parts.onSuperseded,
    address: `${config.listen.host}:${config.listen.port}`,
  });
  const knownSince = () => nodes.aloneSinceMs;
  const isShared = () => !nodes.isAlone;
  const accounts = new AccountCache({ database, clock, isShared, knownSince, capacity: kept });
  const keys = new KeyCache({ database, clock, isShared, knownSince, capacity: kept });
  const journal = await Journal.open({
    dir: join(dataDir, 'journal'),
    clock,
    owner,
    report: (event) => reportJournal(log, event),
    keepsSettled: keepsSettled(config),
    ...parts.journal,
  });
  const keptSegments = new KeptSegments({
    database,
    journal,
    retention: new Retention({ keepMs: config.settlement.keepSettledMs }),
    clock,
    watch: parts.watch ?? null,
  });
  const spendLimits = new SpendLimits({ accounts, keys, clock, debtFloor: parts.debtFloor });
  const leases: CreditLeases = new CreditLeases({ database, clock, nodes, isCurrent: () => feed.isFresh });
  const queues = new ReservationQueues({ clock, leases });
  nodes.onOtherNodes(() => leases.publish(spendLimits.all()));
  const settlements = new Settlements({
    database,
    journal,
    ack: config.settlement.ack,
    clock,
    log,
    spendingNode: () => leases.spendingNode,
    untilSeen: async () => {
      if (!nodes.isSeen) await nodes.beat();
    },
    onCommitted: (...committed) => takeCommitted({ accounts, keys, leases }, ...committed),
    onQuarantined: (row) => giveBack({ accounts, keys }, row),
    observer: parts.observer,
  });
  const refusals = new Refusals({ settlements, clock });
  const recovered = await settlements.recover();
  if (recovered.finals + recovered.orphans > 0) log.info('recovered', recovered);
  /** Serves a backup that requests everything settled until now. */
  const flush = async (request: number): Promise<void> => {
    try {
      await settlements.caughtUp();
      await confirmFlush(database, request, home);
    } catch (error) {
      log.warn('flush_unanswered', { detail: describeError(error) });
    }
  };
  const feed: ChangeFeed = await ChangeFeed.start({
    connect: (limitMs) => database.connect(limitMs),
    clock,
    log,
    since,
    onChanges: async (changes) => {
      const subjects = (...topics: ChangeTopic[]): number[] => [
        ...new Set(changes.filter(({ topic }) => topics.includes(topic)).map(({ subject }) => subject)),
      ];
      // In one batch: thousands of single changes would block this node for too long.
      await Promise.all([
        keys.refreshAll(subjects('key')),
        ...subjects('account').map((id) => accounts.refresh(id)),
      ]);
      for (const id of subjects('share-of-account')) leases.noteWanted({ kind: 'account', id });
      for (const id of subjects('share-of-key')) leases.noteWanted({ kind: 'key', id });
      // Credit may have been added, a limit raised, a key revoked, a lease returned.
      queues.wakeAll();
      // Credit may have been deducted or a limit lowered: leases of the old amount would overspend it.
      await leases.releaseExcess([
        ...subjects('account', 'share-of-account').map((id) => spendLimits.account(id)),
        ...subjects('key', 'share-of-key').map((id) => spendLimits.key(id)),
      ]);
      if (subjects('node').length > 0) await nodes.beat();
      // Not awaited: other changes must not wait for these settlements.
      for (const request of subjects('flush')) void flush(request);
      // Publications follow one another, so their ids are in order.
      const publication = changes.findLast(({ topic }) => topic === 'catalogue')?.id ?? 0;
      if (publication <= lastPublication) return;
      lastPublication = publication;
      // Not awaited: a key revocation must not wait for a configuration reload.
      parts.onPublished?.();
    },
  });
  return {
    accounts,
    keys,
    settlements,
    journal,
    keptSegments,
    feed,
    nodes,
    leases,
    spendLimits,
    queues,
    refusals,
    openReservation: (account, key) => new Reservation(account, key, { spendLimits, queues, leases }),
    evictIdle() {
      accounts.evictIdle();
      keys.evictIdle();
    },
    async close() {
      await feed.close();
      await refusals.close();
      await settlements.close();
      await forgetCovered(keptSegments, clock);
      await nodes.leave(settlements.backlog + settlements.unstored === 0);
    },
  };
}

/** How long a stop waits for a standby to receive the last settlements. */
const coverOnCloseMs = 1_000;

/** Whether the journal keeps settled segments. The embedded database has no standbys. */
export function keepsSettled({ database, settlement }: Pick<Config, 'database' | 'settlement'>): boolean {
  return database.url !== 'embedded' && settlement.keepSettledMs !== 0;
}

/** Keeps for the next start what the standbys lack or may lack. Never rejects. */
async function forgetCovered(keptSegments: KeptSegments, clock: Clock): Promise<void> {
  const covering = keptSegments.untilCovered(coverOnCloseMs).catch(() => {});
  await within(clock, 2 * coverOnCloseMs, covering, undefined);
}

/** Moves committed charges out of the pending ones in one turn, so that no reader sees a charge twice or not at all. */
function takeCommitted(
  { accounts, keys, leases }: Pick<Accounting, 'accounts' | 'keys' | 'leases'>,
  rows: readonly SettlementRow[],
  result: SettlementResult,
  readAtMs: number,
): void {
  accounts.update(result.balances, readAtMs);
  for (const row of rows) {
    const cost = krwOfMicro(row.cost);
    accounts.getCached(row.accountId)?.uncharge(cost);
    leases.spent('account', row.accountId, cost);
    leases.spent('key', row.keyId, cost);
    const key = keys.getCachedById(row.keyId);
    if (key === undefined) continue;
    if (!result.replayed.has(row.uuid)) key.committed(row.day, cost);
    // An earlier attempt whose response was lost moved it: read the spend of the key again.
    else keys.markStale(row.keyId, row.day, cost);
  }
}

/** Reverts the charge in memory for a row that the database rejects. */
function giveBack(
  { accounts, keys }: { readonly accounts: AccountCache; readonly keys: KeyCache },
  row: SettlementRow,
): void {
  const cost = krwOfMicro(row.cost);
  accounts.getCached(row.accountId)?.uncharge(cost);
  keys.getCachedById(row.keyId)?.uncharge(row.day, cost);
}

const foreignWords =
  'it belongs to another database or node and was set aside: settle it there with `naru node recover`';

const uncoveredMessage =
  'it was kept for standbys and is deleted although some may not have its charges yet: until they do, a failover loses those charges';

/** Logs what the journal reports. */
export function reportJournal(log: Log, event: JournalEvent): void {
  const { kind } = event;
  const detail = 'error' in event && event.error !== undefined ? describeError(event.error) : null;
  const segment = 'segment' in event ? event.segment : null;
  // Every crash leaves a torn end; everything else needs the operator.
  if (kind === 'torn' || kind === 'unblocked') log.info('journal', { kind, segment });
  else if (kind === 'uncovered')
    log.warn('journal', { kind, segment, reason: event.reason, detail: uncoveredMessage });
  else if (kind === 'foreign') {
    const { database, home } = event;
    log.error('journal', { kind, segment, database, home, detail: foreignWords });
  } else log.error('journal', { kind, segment, detail });
}
