import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { SerialConnection } from '../store/serial-connection.ts';
import { begin, commit, type Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { type CreditLeaseRow, dropLeases, dropLeasesOf, writeLeases } from './credit-leases-sql.ts';
import type { LeaseTable } from './lease-table.ts';
import type { NodeRegistry } from './node-registry.ts';
import type { ReleaseRequests } from './release-requests.ts';
import type { SpendSubject } from './reservation-request.ts';

/**
 * How long a node waits for one of several servers before it acknowledges another node: only one that
 * is silent takes as long, and the node itself is lost after `nodeLostMs`.
 */
const publishWithinMs = 2_000;

/** A lease before it is written. */
export interface NextLease {
  readonly subject: SpendSubject;
  readonly amount: bigint;
}

/** What the release of leases needs; the leases are those that `CreditLeases` grants. */
export interface LeaseReleaseParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone'>;
  readonly leases: LeaseTable;
  /** The subjects of which other nodes wait for credit. */
  readonly wanted: ReleaseRequests;
}

/** Releases what this node has leased and does not use, so that other nodes can spend it. */
export class LeaseRelease {
  readonly #parts: LeaseReleaseParts;
  /** Everything that this process may be spending, as of the last `publish`. */
  #subjects: () => Iterable<SpendSubject> = () => [];
  /** The accounts that had leases when `publish` was called and is not done, by connection. */
  readonly #unpublished = new Map<SerialConnection, Set<number>>();

  constructor(parts: LeaseReleaseParts) {
    this.#parts = parts;
  }

  /**
   * A request that spent of it has ended. When another node waits for that, the credit is released
   * at once. Never rejects.
   */
  async released(subject: SpendSubject): Promise<void> {
    if (!this.#parts.wanted.take(subject) || !this.#parts.leases.has(subject)) return;
    try {
      await this.releaseExcess([subject]);
      // The subject's own topic wakes the requests that wait and does not request another release.
      await this.#parts.database.transaction((sql) => recordChange(sql, subject.kind, subject.id));
    } catch {
      // The node that waits repeats its request.
    }
  }

  /**
   * This node is alone no more: its outstanding credit becomes its leases, and nothing else does.
   * Rejects when the database is away: the beat that this is part of is repeated. Those of one of
   * several servers that is away follow when it is back: nobody gets credit of them until then.
   */
  async publish(subjects: () => Iterable<SpendSubject>): Promise<void> {
    const { placement } = this.#parts.database;
    this.#subjects = subjects;
    const before = Map.groupBy(this.#parts.leases.clear(), (id) => placement.orderedFor(id));
    const published = placement.ordered.map((connection) => {
      const accounts = this.#unpublished.get(connection) ?? new Set();
      for (const accountId of before.get(connection) ?? []) accounts.add(accountId);
      this.#unpublished.set(connection, accounts);
      return placement.inTime(this.publishRest(connection), () => {}, publishWithinMs);
    });
    await Promise.all(published);
  }

  /** Publishes the accounts of a connection, unless that is done. Rejects when they are away. */
  async publishRest(connection: SerialConnection): Promise<void> {
    await connection.run(async (sql) => {
      const accounts = this.#unpublished.get(connection);
      if (accounts !== undefined) await this.#publish(sql, connection, accounts);
    });
  }

  /** Whether accounts of a connection are not published yet. */
  isBehind(connection: SerialConnection): boolean {
    return this.#unpublished.has(connection);
  }

  async #publish(sql: Sql, connection: SerialConnection, accounts: Set<number>): Promise<void> {
    const { database, leases, nodes } = this.#parts;
    const { placement } = database;
    const isOf = (accountId: number): boolean => placement.orderedFor(accountId) === connection;
    // A request that was queued earlier may have got a lease since then; that goes too.
    for (const accountId of leases.clear(isOf)) accounts.add(accountId);
    const exposed = [...this.#subjects()]
      .filter(({ accountId, outstanding }) => outstanding > 0n && isOf(accountId))
      .map((subject) => ({ subject, amount: subject.outstanding }));
    await begin(sql);
    await dropLeasesOf(sql, nodes.id, [...accounts]);
    if (exposed.length > 0) await writeLeases(sql, nodes.id, exposed.map(rowOf));
    await commit(sql);
    for (const { subject, amount } of exposed) leases.put(subject, amount, false);
    this.#unpublished.delete(connection);
  }

  /**
   * Releases leases that nothing was spent of lately, down to what is in flight. Rejects when the
   * database is away.
   */
  async releaseIdle(): Promise<void> {
    const { leases } = this.#parts;
    const { placement } = this.#parts.database;
    const release = async (connection: SerialConnection): Promise<void> => {
      if (this.isBehind(connection)) await this.publishRest(connection);
      const isOf = ({ accountId }: SpendSubject): boolean => placement.orderedFor(accountId) === connection;
      if (leases.idle().some(isOf))
        await connection.run((sql) => this.#trim(sql, leases.idle().filter(isOf)));
    };
    const released = await Promise.allSettled(placement.ordered.map(release));
    for (const outcome of released) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /**
   * Releases what is not in flight of these: they changed, or another node needs it. What is in
   * flight with a key that had no limit until now becomes a lease. Rejects when the database is
   * away; those of one of several servers that is away are released when they are idle.
   */
  async releaseExcess(subjects: readonly SpendSubject[]): Promise<void> {
    if (subjects.length === 0) return;
    const { placement } = this.#parts.database;
    const groups = Map.groupBy(subjects, ({ accountId }) => placement.orderedFor(accountId));
    const released = [...groups].map(([connection, own]) =>
      placement.inTime(
        connection.run((sql) => this.#releaseExcess(sql, own)),
        () => {},
      ),
    );
    await Promise.all(released);
  }

  async #releaseExcess(sql: Sql, subjects: readonly SpendSubject[]): Promise<void> {
    if (this.#parts.nodes.isAlone) return;
    const concerned = subjects.filter(
      (subject) => subject.outstanding > 0n || this.#parts.leases.has(subject),
    );
    await this.#trim(sql, concerned);
  }

  /**
   * Sets leases to what is in flight, in a turn of the accounts' connection, so that no lease is
   * granted in between.
   */
  async #trim(sql: Sql, subjects: readonly SpendSubject[]): Promise<void> {
    const next = subjects.map((subject) => ({ subject, amount: subject.outstanding }));
    const raised = next.filter(({ subject, amount }) => amount > this.#parts.leases.lowerOf(subject, amount));
    for (const { subject, amount } of next)
      this.#parts.leases.put(subject, this.#parts.leases.lowerOf(subject, amount));
    const rows = next.map(rowOf);
    const kept = rows.filter(({ amount }) => amount > 0n);
    const dropped = rows.filter(({ amount }) => amount === 0n);
    if (kept.length > 0) await writeLeases(sql, this.#parts.nodes.id, kept);
    if (dropped.length > 0) await dropLeases(sql, this.#parts.nodes.id, dropped);
    // The others may have got leases that did not count this.
    for (const { subject } of raised) await recordChange(sql, `share-of-${subject.kind}`, subject.id);
    for (const { subject, amount } of next) {
      if (amount > 0n) this.#parts.leases.put(subject, amount, false);
      else this.#parts.leases.delete(subject);
    }
  }
}

/** The row of a lease. */
export function rowOf({ subject, amount }: NextLease): CreditLeaseRow {
  return { kind: subject.kind, subject: subject.id, accountId: subject.accountId, amount };
}
