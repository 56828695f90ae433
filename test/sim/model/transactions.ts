import { type TableName, type Tables, tableNames } from './tables.ts';

/** The server's rejection, as its client throws it. */
export class ServerError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

type AnyRow = Tables[TableName];

interface Lock {
  holder: Transaction;
  readonly queue: { readonly tx: Transaction; readonly granted: PromiseWithResolvers<void> }[];
}

/**
 * The committed rows, the locks, and the sequences. After a restart only what is committed exists.
 */
export class Store {
  readonly tables = Object.fromEntries(tableNames.map((name) => [name, new Map()])) as {
    readonly [Name in TableName]: Map<string, Tables[Name]>;
  };
  readonly #locks = new Map<string, Lock>();
  readonly #numbers = new Map<TableName, number>();
  readonly #underway = new Set<number>();
  #lastTransaction = 0;
  /** The time of the server, epoch milliseconds. */
  readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** The next number of an identity column; one that was rolled back is not given again. */
  nextNumber(table: TableName): number {
    const next = (this.#numbers.get(table) ?? 0) + 1;
    this.#numbers.set(table, next);
    return next;
  }

  /** The number of a transaction that is about to write. */
  numberOfWriter(): number {
    this.#lastTransaction += 1;
    this.#underway.add(this.#lastTransaction);
    return this.#lastTransaction;
  }

  ended(transaction: number): void {
    this.#underway.delete(transaction);
  }

  /**
   * The committed snapshot, in the server's notation: the first transaction in progress, the next
   * one, those in progress.
   */
  snapshot(): string {
    const next = this.#lastTransaction + 1;
    return `${Math.min(next, ...this.#underway)}:${next}:${[...this.#underway].join(',')}`;
  }

  begin(): Transaction {
    return new Transaction(this);
  }

  /** Resolves when the transaction has the lock; rejects on a deadlock. */
  async acquire(tx: Transaction, name: string): Promise<void> {
    // Its connection may have ended while its statement waited for an earlier lock.
    if (tx.isOver) throw new ServerError('57P01', 'terminated');
    const lock = this.#locks.get(name);
    if (lock === undefined) {
      this.#locks.set(name, { holder: tx, queue: [] });
      tx.held.push(name);
      return;
    }
    if (lock.holder === tx) return;
    for (let waits: Transaction | null = lock.holder; waits !== null; ) {
      if (waits === tx) throw new ServerError('40P01', 'deadlock detected');
      waits = waits.waitsFor === null ? null : (this.#locks.get(waits.waitsFor)?.holder ?? null);
    }
    const granted = Promise.withResolvers<void>();
    lock.queue.push({ tx, granted });
    tx.waitsFor = name;
    await granted.promise;
  }

  /** Releases everything; the longest waiter continues. */
  release(tx: Transaction): void {
    if (tx.waitsFor !== null) {
      const queue = this.#locks.get(tx.waitsFor)?.queue ?? [];
      const at = queue.findIndex((waiting) => waiting.tx === tx);
      if (at >= 0) queue.splice(at, 1)[0]?.granted.reject(new ServerError('57P01', 'terminated'));
      tx.waitsFor = null;
    }
    for (const name of tx.held.splice(0)) {
      const lock = this.#locks.get(name);
      const next = lock?.queue.shift();
      if (lock === undefined || next === undefined) this.#locks.delete(name);
      else {
        lock.holder = next.tx;
        next.tx.waitsFor = null;
        next.tx.held.push(name);
        next.granted.resolve();
      }
    }
  }
}

/**
 * One transaction, read committed: it sees what is committed at each statement, and what it wrote
 * itself.
 */
export class Transaction {
  readonly store: Store;
  /** `now()` is constant within a transaction. */
  readonly nowMs: number;
  readonly held: string[] = [];
  /** What its listeners are notified of when it commits. */
  readonly notices: string[] = [];
  waitsFor: string | null = null;
  /** One of its statements was rejected: it can only be rolled back. */
  failed = false;
  #over = false;
  #number: number | null = null;
  readonly #written = new Map<TableName, Map<string, AnyRow | null>>();

  constructor(store: Store) {
    this.store = store;
    this.nowMs = store.now();
  }

  /** Its number, which only writers have. */
  get number(): number {
    this.#number ??= this.store.numberOfWriter();
    return this.#number;
  }

  /** Committed or rolled back. */
  get isOver(): boolean {
    return this.#over;
  }

  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined {
    const own = this.#written.get(table);
    if (own?.has(key) === true) return (own.get(key) ?? undefined) as Tables[Name] | undefined;
    return this.store.tables[table].get(key) as Tables[Name] | undefined;
  }

  /** The rows of a table with their keys. */
  *rows<Name extends TableName>(table: Name): Iterable<readonly [string, Tables[Name]]> {
    const own = this.#written.get(table);
    for (const [key, row] of this.store.tables[table] as Map<string, Tables[Name]>)
      if (own?.has(key) !== true) yield [key, row];
    for (const [key, row] of own ?? []) if (row !== null) yield [key, row as Tables[Name]];
  }

  put<Name extends TableName>(table: Name, key: string, row: Tables[Name]): void {
    this.#own(table).set(key, row);
  }

  delete(table: TableName, key: string): void {
    this.#own(table).set(key, null);
  }

  /** What it wrote, table by table; null: deleted. */
  get written(): ReadonlyMap<TableName, ReadonlyMap<string, AnyRow | null>> {
    return this.#written;
  }

  /** A statement was rejected: its locks are released at once. */
  fail(): void {
    this.failed = true;
    this.store.release(this);
  }

  commit(): readonly string[] {
    if (this.#over) return [];
    for (const [name, rows] of this.#written) {
      const table = this.store.tables[name] as Map<string, AnyRow>;
      for (const [key, row] of rows) {
        if (row === null) table.delete(key);
        else table.set(key, row);
      }
    }
    this.#end();
    return this.notices;
  }

  rollback(): void {
    if (!this.#over) this.#end();
  }

  #end(): void {
    this.#over = true;
    if (this.#number !== null) this.store.ended(this.#number);
    this.store.release(this);
  }

  #own(table: TableName): Map<string, AnyRow | null> {
    const own = this.#written.get(table) ?? new Map();
    this.#written.set(table, own);
    return own;
  }
}
