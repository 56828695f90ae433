import type { Client } from 'pg';
import type { Change } from '../changes.ts';
import type { SerialConnection } from '../serial-connection.ts';
import type { Sql } from '../sql.ts';

/** How work where the rows are is bounded and ended. */
export interface WorkLimits {
  /** How long a statement may take. */
  readonly limitMs?: number | null;
  /** Aborted: statements under way are cancelled. */
  readonly signal?: AbortSignal;
}

/** Which rows a transaction at each part changes. */
export interface ChangeOfParts {
  /** The tables of accounts that it uses. */
  readonly tables: readonly string[];
  /** Only the parts that have some of these accounts; null: all. */
  readonly accounts: readonly bigint[] | null;
  readonly limitMs: number;
}

/** How a partition of a table of accounts is replaced by sums. */
export interface PartitionReplacement {
  readonly partition: string;
  /** The tables of accounts that `storeSums` writes. */
  readonly tables: readonly string[];
  /** Announces it to every server. */
  readonly mark: (sql: Sql) => Promise<void>;
  /** Throws where that did not arrive. */
  readonly assertMarked: (sql: Sql) => Promise<void>;
  /** Stores the sums of one part of the partition. */
  readonly storeSums: (sql: Sql, partition: string) => Promise<void>;
  /** Stores what all parts have in common. */
  readonly storeTotals: (sql: Sql) => Promise<void>;
  readonly drop: (sql: Sql, partition: string) => Promise<void>;
}

/** A server that has accounts, beside the one of the database's address. */
export interface AccountServer {
  /** As operators know it. */
  readonly name: string;
  readonly parts: readonly number[];
  /** Whether it did not respond to the last `look`. */
  readonly isAway: boolean;
}

/** Settlements of one part that are being entered. */
export interface PartQueue {
  readonly part: number;
  readonly drained: Promise<void>;
  readonly isFailing: () => boolean;
}

/** Reads again what changed, once no server can have its state of before. */
export interface LateReads {
  /** Notes changes that were announced. */
  note(changes: readonly Change[]): void;
  close(): void;
}

/**
 * Where the rows of accounts are: on one server, or in the shards of an engine. All rows of an
 * account are in one part; what several parts have in common is on the server of the address.
 */
export interface Placement {
  readonly parts: number;
  /** The part of an account: a number below `parts`. */
  partOf(accountId: number): number;
  readonly servers: readonly AccountServer[];
  /** Looks which servers are away. Never rejects. */
  look(): Promise<void>;
  /** Whether the server that has the account was away at the last `look`. */
  isAway(accountId: number): boolean;

  /**
   * The connection on which everything about an account runs in order. Accounts of one server share
   * it: a server that is away delays its own accounts only.
   */
  orderedFor(accountId: number): SerialConnection;
  /** All of these, and the one of what belongs to no account. */
  readonly ordered: readonly SerialConnection[];
  /**
   * Runs `use` in a turn of the account's connection, where its rows are. An error that leaves it in
   * doubt repeats it once in that turn.
   */
  settle<T>(
    accountId: number,
    use: (client: Client) => Promise<T>,
    isInDoubt?: (error: unknown) => boolean,
  ): Promise<T>;
  /**
   * Waits for the settlements of an earlier process. Of several servers it does not wait for those
   * that are away: returns their parts, the accounts of which are not read until they are drained.
   */
  drained(queues: readonly PartQueue[]): Promise<readonly number[]>;
  /** Throws `DatabaseAway` while settlements of an earlier process wait for the part of an account. */
  assertDrained(accountId: number): void;

  /**
   * Waits for work at the server of some accounts. Of several servers one must not delay the others:
   * `failed` is called when it fails or takes too long (it may still succeed then). With one server
   * it rejects with what the work throws.
   */
  inTime(work: Promise<unknown>, failed: () => void, limitMs?: number): Promise<void>;
  /** Reads again with `apply`, which may be called twice for one change. */
  lateReads(apply: (changes: readonly Change[]) => Promise<void>): LateReads;

  /** Calls `read` for all servers that are reached; the tables have their rows. */
  eachReached(tables: readonly string[], read: (sql: Sql) => Promise<void>): Promise<void>;
  /**
   * Calls `work` for each part with one instant of it: in the transaction `sql`, or at the servers at
   * the same time, where each of `copied` has the rows of the table of the address. Rejects when one
   * fails, once the others have stopped.
   */
  eachPart(
    sql: Sql,
    options: WorkLimits & { readonly copied: readonly string[] },
    work: (sql: Sql, part: number) => Promise<void>,
  ): Promise<void>;
  /**
   * Calls `work` where the rows are: in the transaction `sql`, or in a transaction of each part,
   * before it. What earlier parts committed stays when one fails.
   */
  changeParts(sql: Sql, change: ChangeOfParts, work: (sql: Sql) => Promise<void>): Promise<void>;
  /**
   * Replaces a partition in the transaction `sql`, or in one of each part, so that some parts may be
   * replaced when it fails; the next call replaces the rest.
   */
  replacePartition(sql: Sql, replacement: PartitionReplacement): Promise<void>;
  /** What `read` yields where the rows are, in the order of `compare`, in which it yields them. */
  merge<T>(read: (sql: Sql) => AsyncGenerator<T>, compare: (a: T, b: T) => number): AsyncGenerator<T>;

  /** Closes its connections. */
  close(): Promise<void>;
}
