import type { AccountCache } from '../accounts/account-cache.ts';
import type { KeyCache } from '../accounts/key-cache.ts';
import type { SpendLimits } from '../accounts/spend-limits.ts';
import type { Settlements } from '../ledger/settlements.ts';
import { describeError, type Log } from '../log/log.ts';
import type { CreditLeases } from '../nodes/credit-leases.ts';
import { confirmFlush } from '../nodes/flush-sql.ts';
import type { NodeRegistry } from '../nodes/node-registry.ts';
import type { ReservationQueues } from '../nodes/reservation-queue.ts';
import type { Change, ChangeTopic } from '../store/changes.ts';
import type { Database } from '../store/database.ts';

/** The memory that changes of other processes concern. */
export interface ChangedParts {
  readonly accounts: AccountCache;
  readonly keys: KeyCache;
  readonly spendLimits: SpendLimits;
  readonly leases: CreditLeases;
  readonly queues: ReservationQueues;
  readonly nodes: NodeRegistry;
}

/** What changes start beside the update of memory. */
export interface ChangeActions {
  /** Serves a backup that requests everything settled until now. */
  readonly flush: (request: number) => Promise<void>;
  /** Bills the prices of the edition that is published now. */
  readonly takePrices: () => Promise<void>;
  readonly publications: Publications;
  /** Reads again which candidates are drained. */
  readonly readDrains: () => Promise<void>;
  /** Ends the calls in flight of these keys that may not call any more. */
  readonly endCalls: (keyIds: ReadonlySet<number>) => void;
}

/** Applies changes of other nodes and of commands to memory. */
export async function applyChanges(
  changes: readonly Change[],
  { accounts, keys, spendLimits, leases, queues, nodes }: ChangedParts,
  { flush, takePrices, publications, readDrains, endCalls }: ChangeActions,
): Promise<void> {
  const subjects = (...topics: ChangeTopic[]): number[] => [
    ...new Set(changes.filter(({ topic }) => topics.includes(topic)).map(({ subject }) => subject)),
  ];
  // In one batch: thousands of single changes would block this node for too long.
  await Promise.all([
    keys.refreshAll(subjects('key')),
    ...subjects('account').map((id) => accounts.refresh(id)),
    ...subjects('drain').map(readDrains),
    ...(subjects('catalogue', 'edition').length === 0 ? [] : [takePrices()]),
  ]);
  endCalls(new Set(subjects('calls-of-key')));
  for (const id of subjects('share-of-account')) leases.noteWanted({ kind: 'account', id });
  for (const id of subjects('share-of-key')) leases.noteWanted({ kind: 'key', id });
  // Credit may have been added, a limit raised, a key revoked, a lease returned.
  queues.wakeAll();
  // Credit may have been deducted or a limit lowered: leases of the old amount would overspend it.
  await leases.releaseExcess([
    ...subjects('account', 'share-of-account').map((id) => spendLimits.account(id)),
    // A lease outlives the cached key that it was granted for.
    ...subjects('key', 'share-of-key').flatMap(
      (id) => spendLimits.key(id) ?? leases.leased({ kind: 'key', id }) ?? [],
    ),
  ]);
  if (subjects('node').length > 0) await nodes.followList();
  // Not awaited: other changes must not wait for these settlements.
  for (const request of subjects('flush')) void flush(request);
  publications.note(changes);
}

/** Reads accounts and keys again that changed, and does nothing else. */
export function applyAgain(changes: readonly Change[], held: ChangedParts): Promise<void> {
  return applyChanges(changes, held, {
    flush: async () => {},
    takePrices: async () => {},
    publications: new Publications(undefined),
    readDrains: async () => {},
    endCalls: () => {},
  });
}

/** What the response to a backup needs. */
export interface FlushParts {
  readonly settlements: Settlements;
  readonly database: Database;
  readonly log: Log;
  /** Identifies the node. */
  readonly home: string;
}

/** Responds to a backup that requests everything settled until now. Never rejects. */
export async function respondToFlush(
  request: number,
  { settlements, database, log, home }: FlushParts,
): Promise<void> {
  try {
    await settlements.caughtUp();
    await confirmFlush(database, request, home);
  } catch (error) {
    log.warn('flush_unanswered', { detail: describeError(error) });
  }
}

/** A publication. */
export interface Published {
  readonly edition: number;
  /** By an operator, who changed files too; otherwise by a server that was alone. */
  readonly byOperator: boolean;
}

/** Notes publications, each once: a change may be delivered twice. */
export class Publications {
  readonly #onPublished: ((publication: Published) => void) | undefined;
  #lastId = 0;

  constructor(onPublished: ((publication: Published) => void) | undefined) {
    this.#onPublished = onPublished;
  }

  note(changes: readonly Change[]): void {
    // Publications follow one another, so their ids are in order.
    for (const { id, topic, subject: edition } of changes) {
      if ((topic !== 'catalogue' && topic !== 'edition') || id <= this.#lastId) continue;
      this.#lastId = id;
      // Not awaited: a key revocation must not wait for a configuration reload.
      this.#onPublished?.({ edition, byOperator: topic === 'catalogue' });
    }
  }
}
