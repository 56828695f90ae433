import type { Client } from 'pg';
import type { SerialConnection } from '../serial-connection.ts';
import type { Sql } from '../sql.ts';
import type {
  ChangeOfParts,
  LateReads,
  PartitionReplacement,
  PartQueue,
  Placement,
  WorkLimits,
} from './placement.ts';

/** All accounts are on the server of the address, as one part. */
export class OneServer implements Placement {
  readonly parts = 1;
  readonly servers = [];
  readonly ordered: readonly SerialConnection[];
  readonly #serial: SerialConnection;
  readonly #database: Sql;

  constructor({ serial, database }: { readonly serial: SerialConnection; readonly database: Sql }) {
    this.#serial = serial;
    this.#database = database;
    this.ordered = [serial];
  }

  partOf(): number {
    return 0;
  }

  async look(): Promise<void> {}

  isAway(): boolean {
    return false;
  }

  orderedFor(): SerialConnection {
    return this.#serial;
  }

  settle<T>(
    _accountId: number,
    use: (client: Client) => Promise<T>,
    isInDoubt?: (error: unknown) => boolean,
  ): Promise<T> {
    return this.#serial.run((_sql, client) => use(client), isInDoubt);
  }

  async drained(queues: readonly PartQueue[]): Promise<readonly number[]> {
    await Promise.all(queues.map(({ drained }) => drained));
    return [];
  }

  assertDrained(): void {}

  async inTime(work: Promise<unknown>): Promise<void> {
    await work;
  }

  /** A change is visible when it is announced. */
  lateReads(): LateReads {
    return { note: () => {}, close: () => {} };
  }

  eachReached(_tables: readonly string[], read: (sql: Sql) => Promise<void>): Promise<void> {
    return read(this.#database);
  }

  eachPart(sql: Sql, _options: WorkLimits, work: (sql: Sql, part: number) => Promise<void>): Promise<void> {
    return work(sql, 0);
  }

  changeParts(sql: Sql, _change: ChangeOfParts, work: (sql: Sql) => Promise<void>): Promise<void> {
    return work(sql);
  }

  /** Settlements wait for the drop until the transaction ends, so it is the last. */
  async replacePartition(
    sql: Sql,
    { partition, storeSums, storeTotals, drop }: PartitionReplacement,
  ): Promise<void> {
    await storeSums(sql, partition);
    await storeTotals(sql);
    await drop(sql, partition);
  }

  merge<T>(read: (sql: Sql) => AsyncGenerator<T>): AsyncGenerator<T> {
    return read(this.#database);
  }

  async close(): Promise<void> {}
}
