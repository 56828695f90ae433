import { type Replication, readReplication } from './replication.ts';
import type { Sql } from './sql.ts';

/**
 * The server is not the one that memory was read from, or it lost commits that this process saw.
 * Its code is that of a lost connection: the work is retried later, by this process or the next
 * one.
 */
export class HistoryChanged extends Error {
  override readonly name = 'HistoryChanged';
  readonly code = '08006';
}

/**
 * Compares each reading of the server with the earlier ones. After a failover to a standby that
 * lacked commits, or a recovery from an older copy, balances in memory are not those of the
 * database (spec:money/5.6).
 */
export class HistoryWatch {
  readonly #onChange: (error: HistoryChanged) => void;
  #history: string | null = null;
  #position = 0n;
  #change: HistoryChanged | null = null;

  /** `onChange` is called once. */
  constructor(onChange: (error: HistoryChanged) => void) {
    this.#onChange = onChange;
  }

  /** Whether the server was found to have another history: nothing of this process reaches it. */
  get hasChanged(): boolean {
    return this.#change !== null;
  }

  /**
   * Reads how far the server is; null when it does not report that. Throws `HistoryChanged` when it
   * has another history, from then on always, and when it is a standby; and what the query throws.
   */
  async look(sql: Sql): Promise<Replication | null> {
    if (this.#change !== null) throw this.#change;
    // Readings may overlap: a result can be older than that of a later query.
    const reached = this.#position;
    const replication = await readReplication(sql);
    if (replication !== null) this.#compare(replication, reached);
    return replication;
  }

  #compare({ history, position }: Replication, reached: bigint): void {
    if (history === null || position === null)
      throw new HistoryChanged('the server is a standby and takes no writes');
    this.#history ??= history;
    if (history !== this.#history)
      throw this.#report(`the database continues as ${history}, and was ${this.#history} before`);
    if (position < reached)
      throw this.#report(`the log of the database ends at ${position}, and had reached ${reached} before`);
    if (position > this.#position) this.#position = position;
  }

  #report(message: string): HistoryChanged {
    const isFirst = this.#change === null;
    this.#change ??= new HistoryChanged(message);
    if (isFirst) this.#onChange(this.#change);
    return this.#change;
  }
}
