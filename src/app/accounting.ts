import { join } from 'node:path';
import type { Account } from '../accounts/account.ts';
import { AccountCache } from '../accounts/account-cache.ts';
import type { Key } from '../accounts/key.ts';
import { KeyCache } from '../accounts/key-cache.ts';
import { Reservation } from '../accounts/reservation.ts';
import { SpendLimits } from '../accounts/spend-limits.ts';
import type { Config } from '../config/config.ts';
import { Refusals } from '../inference/refusals.ts';
import { giveBack, takeCommitted } from '../ledger/committed-charges.ts';
import { Journal, type JournalOptions } from '../ledger/journal/journal.ts';
import { keepsSettled, reportJournal } from '../ledger/journal-events.ts';
import { KeptSegments } from '../ledger/kept-segments.ts';
import { Retention } from '../ledger/segment-retention.ts';
import { Settlements } from '../ledger/settlements.ts';
import type { Log } from '../log/log.ts';
import type { SettlementObserver } from '../metrics/observers.ts';
import type { Krw } from '../money/krw.ts';
import { ChangeFeed } from '../nodes/change-feed.ts';
import { CreditLeases } from '../nodes/credit-leases.ts';
import { DatabaseWaits } from '../nodes/database-waits.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { NodeRegistry } from '../nodes/node-registry.ts';
import type { NodeDescription, ReportedPrices } from '../nodes/nodes-sql.ts';
import { ReservationQueues } from '../nodes/reservation-queue.ts';
import { lookedBack, type SeenChanges, seenUntilNow } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import type { HistoryWatch } from '../store/history-watch.ts';
import type { LateReads } from '../store/placement/placement.ts';
import { type Clock, within } from '../time/clock.ts';
import {
  applyAgain,
  applyChanges,
  type ChangedParts,
  Publications,
  type Published,
  respondToFlush,
} from './apply-changes.ts';

/**
 * The maximum of idle accounts, and of idle keys, in memory: together some 160 MB (docs/scale.md).
 * Others are cached only while in use.
 */
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
  /**
   * Detects that another database server replaced the one that memory was read from; null or
   * absent: not checked.
   */
  readonly watch?: HistoryWatch | null;
  /** What this node reports of its prices; nothing if absent. */
  readonly prices?: () => ReportedPrices;
  /** What runs here; nothing if absent. */
  readonly describe?: () => NodeDescription;
  /** Called when an edition was published: its prices apply when this resolves. */
  readonly takePrices?: () => Promise<void>;
  /** Called once for each publication after that: the configuration must be reloaded. */
  readonly onPublished?: ((publication: Published) => void) | undefined;
  /** Called when operators drained or resumed candidates: which ones must be read again. */
  readonly onDrainsChanged?: () => Promise<void>;
  /** Called when operators ended the calls of keys. */
  readonly endCalls?: (keyIds: ReadonlySet<number>) => void;
  /**
   * Called when another process took over the identity of the data directory: this one must stop.
   */
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
  /** The requests that wait for the database. */
  readonly waits: DatabaseWaits;
  /** The credit that this node may spend without a query. */
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

/**
 * Opens accounting; settles the journal of an earlier process before anything can read balances.
 * Leaves nothing open when it throws.
 */
export async function openAccounting(parts: AccountingParts): Promise<Accounting> {
  const { database, dataDir, clock, log, debtFloor } = parts;
  await using opened = new AsyncDisposableStack();
  // A price may have been published after the configuration was read, which was before the database
  // was open.
  const since = lookedBack(await seenUntilNow(database));
  const home = parts.home ?? nodeDir(dataDir);
  let isSettled = (): boolean => false;
  const nodes = await joinNodes(parts, home);
  opened.defer(() => nodes.leave(isSettled()));
  const { accounts, keys } = openCaches(parts, nodes);
  const journal = await openJournal(parts, home);
  const keptSegments = openKeptSegments(parts, journal);
  opened.defer(() => forgetCovered(keptSegments, clock));
  const spendLimits = new SpendLimits({ accounts, keys, clock, debtFloor });
  const leases: CreditLeases = new CreditLeases({ database, clock, nodes, isCurrent: () => feed.isFresh });
  const waits = new DatabaseWaits({
    clock,
    log,
    isAway: (accountId) => feed.isAway || (accountId !== null && database.placement.isAway(accountId)),
  });
  const queues = new ReservationQueues({ clock, leases, waits });
  nodes.onOtherNodes(() => leases.publish(() => spendLimits.all()));
  const settlements = openSettlements(parts, { journal, nodes, leases, accounts, keys });
  opened.defer(() => settlements.close());
  const refusals = new Refusals({ settlements, keys, clock, isAway: () => feed.isAway });
  opened.defer(() => refusals.close());
  const recovered = await settlements.recover({ skipsAway: true });
  if (recovered.finals + recovered.orphans > 0) log.info('recovered', recovered);
  isSettled = () => settlements.backlog + settlements.unstored === 0;
  const held = { accounts, keys, spendLimits, leases, queues, nodes, settlements };
  const late = database.placement.lateReads((changes) => applyAgain(changes, held));
  opened.defer(() => late.close());
  const onAway = (): void => waits.check();
  const feed: ChangeFeed = await openFeed(parts, held, { since, home, late, onAway });
  opened.defer(() => feed.close());
  const closing = opened.move();
  return {
    ...held,
    journal,
    keptSegments,
    feed,
    waits,
    refusals,
    openReservation: (account, key) => new Reservation(account, key, { spendLimits, queues, leases }),
    evictIdle() {
      accounts.evictIdle();
      keys.evictIdle();
    },
    close: () => closing.disposeAsync(),
  };
}

function joinNodes(parts: AccountingParts, home: string): Promise<NodeRegistry> {
  const { config, database, clock, log, onSuperseded, prices, describe } = parts;
  return NodeRegistry.join({
    ...(prices && { prices }),
    ...(describe && { describe }),
    database,
    clock,
    log,
    home,
    keepsCharges: config.settlement.ack === 'journal',
    onSuperseded,
    address: `${config.listen.host}:${config.listen.port}`,
  });
}

function openCaches(
  { database, clock, cacheCapacity: capacity = keptInMemory }: AccountingParts,
  nodes: NodeRegistry,
): Pick<Accounting, 'accounts' | 'keys'> {
  const isShared = (): boolean => !nodes.isAlone;
  const knownSince = (): number => nodes.aloneSinceMs;
  const cacheParts = { database, clock, isShared, knownSince, capacity };
  return { accounts: new AccountCache(cacheParts), keys: new KeyCache(cacheParts) };
}

async function openJournal(parts: AccountingParts, home: string): Promise<Journal> {
  const { config, database, dataDir, clock, log } = parts;
  return Journal.open({
    dir: join(dataDir, 'journal'),
    clock,
    owner: { database: await readDatabaseId(database), home },
    report: (event) => reportJournal(log, event),
    keepsSettled: keepsSettled(config),
    ...parts.journal,
  });
}

function openKeptSegments(parts: AccountingParts, journal: Journal): KeptSegments {
  const { config, database, clock, watch = null } = parts;
  const retention = new Retention({ keepMs: config.settlement.keepSettledMs });
  return new KeptSegments({ database, journal, retention, clock, watch });
}

function openSettlements(
  { config, database, clock, log, observer }: AccountingParts,
  { journal, nodes, ...caches }: Pick<Accounting, 'journal' | 'nodes' | 'leases' | 'accounts' | 'keys'>,
): Settlements {
  return new Settlements({
    database,
    journal,
    ack: config.settlement.ack,
    clock,
    log,
    spendingNode: () => caches.leases.spendingNode,
    untilSeen: async () => {
      if (!nodes.isSeen) await nodes.beat();
    },
    onCommitted: (...committed) => takeCommitted(caches, ...committed),
    onQuarantined: (row) => giveBack(caches, row),
    observer,
  });
}

/** Follows the changes of other nodes and of commands. */
function openFeed(
  {
    database,
    clock,
    log,
    takePrices = async () => {},
    onPublished,
    onDrainsChanged = async () => {},
    endCalls = () => {},
    watch = null,
  }: AccountingParts,
  held: ChangedParts & { readonly settlements: Settlements },
  {
    since,
    home,
    late,
    onAway,
  }: {
    readonly since: SeenChanges;
    readonly home: string;
    readonly late: LateReads;
    readonly onAway: () => void;
  },
): Promise<ChangeFeed> {
  const flush = (request: number): Promise<void> => respondToFlush(request, { ...held, database, log, home });
  const publications = new Publications(onPublished);
  const actions = { flush, takePrices, publications, readDrains: onDrainsChanged, endCalls };
  return ChangeFeed.start({
    connect: (limitMs) => database.connect(limitMs),
    clock,
    log,
    since,
    onAway,
    hasHistoryChanged: () => watch?.hasChanged === true,
    onChanges: async (changes) => {
      await applyChanges(changes, held, actions);
      late.note(changes);
    },
  });
}

/** How long a stop waits for a standby to receive the last settlements. */
const coverOnCloseMs = 1_000;

/** Keeps for the next start what the standbys lack or may lack. Never rejects. */
async function forgetCovered(keptSegments: KeptSegments, clock: Clock): Promise<void> {
  const covering = keptSegments.untilCovered(coverOnCloseMs).catch(() => {});
  await within(clock, 2 * coverOnCloseMs, covering, undefined);
}
