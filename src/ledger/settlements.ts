import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import type { Journal, Ticket } from '../store/journal/journal.ts';
import type { SettlementResult, SettlementRow } from '../store/settlement.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import { decodeFinal, decodeOpen, encodeFinal, encodeOpen, type OpenRecord } from './journal-records.ts';
import { Settler } from './settler.ts';

export type { SettlementRow } from '../store/settlement.ts';

const openType = 1;
const finalType = 2;
/** How long a settlement may wait for the database when the journal cannot be written. */
const databasePatienceMs = 10_000;

/** What settlements are made of. */
export interface SettlementsParts {
  readonly database: Database;
  readonly journal: Journal;
  /** What makes a settlement durable: this process's journal, or the database itself (decisions.md §5). */
  readonly ack: 'journal' | 'database';
  readonly clock: Clock;
  readonly log: Log;
  readonly onCommitted: (rows: readonly SettlementRow[], result: SettlementResult) => void;
}

/** A request that was admitted: it ends in exactly one settlement. */
export interface Opened {
  readonly record: OpenRecord;
  readonly ticket: Ticket | null;
}

/** Neither the journal nor the database took a settlement: the answer cannot be billed, so it must not be completed. */
export class Unbillable extends Error {
  override readonly name = 'Unbillable';
}

/**
 * Makes money durable before the client can see that an answer is complete (decisions.md §3): journal first, database soon
 * after. A generation settles at most once, whatever is killed or repeated: the database knows it by its id.
 */
export class Settlements {
  readonly #parts: SettlementsParts;
  readonly #settler: Settler;
  /** Settled here, not yet in the database: readable all the same. */
  readonly #onTheWay = new Map<string, SettlementRow>();

  constructor(parts: SettlementsParts) {
    this.#parts = parts;
    this.#settler = new Settler({
      ...parts,
      onQuarantined: (row, reason) =>
        parts.log.error('settlement_quarantined', {
          generation: row.uuid,
          account_id: row.accountId,
          cost: row.cost,
          detail: reason,
        }),
    });
  }

  /** Notes that a request was admitted. Throws `Unbillable` when the journal can take nothing and is what must be durable. */
  open(record: OpenRecord): Opened {
    try {
      return { record, ticket: this.#parts.journal.append(openType, encodeOpen(record)) };
    } catch (error) {
      if (this.#parts.ack === 'database') return { record, ticket: null };
      throw new Unbillable('the journal takes no more requests', { cause: error });
    }
  }

  /** Settles a request; resolves when that is durable. Rejects with `Unbillable`; then nothing was or will be charged. */
  async settle(opened: Opened, row: SettlementRow): Promise<void> {
    const committed = Promise.withResolvers<void>();
    const journaled = this.#journal(row);
    const tickets = [opened.ticket, journaled?.ticket ?? null];
    this.#push(row, tickets, committed.resolve);
    if (this.#parts.ack === 'journal' && journaled !== null) {
      try {
        return await journaled.durable;
      } catch (error) {
        this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      }
    }
    await this.#committedInTime(row, committed.promise);
  }

  /** The record of a generation that is settled but not yet in the database. */
  find(uuid: string): SettlementRow | undefined {
    return this.#onTheWay.get(uuid);
  }

  /** Settlements that are not yet in the database. */
  get backlog(): number {
    return this.#settler.backlog;
  }

  /**
   * Settles what an earlier process left in the journal, before anything is served: finals as they are; an admitted request
   * without one is a failed request at zero cost. Returns how many of each.
   */
  async recover(): Promise<{ readonly finals: number; readonly orphans: number }> {
    const opens = new Map<string, { record: OpenRecord; ticket: Ticket }>();
    let finals = 0;
    for await (const record of this.#parts.journal.replay()) {
      const payload = record.payload.toString('utf8');
      if (record.type === openType) {
        const open = decodeOpen(payload);
        opens.set(open.uuid, { record: open, ticket: record.ticket });
      } else if (record.type === finalType) {
        const row = decodeFinal(payload);
        const open = opens.get(row.uuid);
        opens.delete(row.uuid);
        this.#push(row, [open?.ticket ?? null, record.ticket], () => {});
        finals += 1;
      } else this.#parts.journal.release(record.ticket);
    }
    for (const { record, ticket } of opens.values()) this.#push(this.#diedWith(record), [ticket], () => {});
    await this.#settler.drained();
    return { finals, orphans: opens.size };
  }

  /** Resolves when everything settled so far is in the database. */
  drained(): Promise<void> {
    return this.#settler.drained();
  }

  /** Stops; what the database has not taken stays in the journal for the next start. */
  async close(): Promise<void> {
    this.#settler.stop();
    await this.#parts.journal.close();
  }

  #journal(row: SettlementRow): { readonly ticket: Ticket; readonly durable: Promise<void> } | null {
    try {
      const ticket = this.#parts.journal.append(finalType, encodeFinal(row));
      return { ticket, durable: this.#parts.journal.durable(ticket) };
    } catch (error) {
      this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      return null;
    }
  }

  #push(row: SettlementRow, tickets: readonly (Ticket | null)[], committed: () => void): void {
    this.#onTheWay.set(row.uuid, row);
    this.#settler.push(row, (outcome) => {
      this.#onTheWay.delete(row.uuid);
      // A quarantined row keeps its place in the journal: it is money that a person must look at.
      if (outcome === 'quarantined') return;
      for (const ticket of tickets) if (ticket !== null) this.#parts.journal.release(ticket);
      committed();
    });
  }

  /** Waits for the database for a while, then gives the settlement up for a record of the failure. */
  async #committedInTime(row: SettlementRow, committed: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<'late'>();
    const timer = this.#parts.clock.after(databasePatienceMs, () => late.resolve('late'));
    const first = await Promise.race([committed, late.promise]);
    timer.cancel();
    if (first !== 'late') return;
    // A row that is just being committed is waited for: its outcome is near, and either one is the truth.
    const failed = { ...row, status: 500, errorType: 'server', cost: 0n };
    if (!this.#settler.replace(row.uuid, failed)) return committed;
    this.#onTheWay.set(row.uuid, failed);
    throw new Unbillable('neither the journal nor the database took the settlement');
  }

  /** Naru died with the request in hand (decisions.md §2): failed, recorded, free. */
  #diedWith(record: OpenRecord): SettlementRow {
    const nowMs = this.#parts.clock.now();
    return {
      ...record,
      settledAtMs: nowMs,
      day: seoulDayAt(nowMs),
      status: 500,
      errorType: 'server',
      model: null,
      provider: null,
      finishReason: null,
      promptTokens: 0,
      completionTokens: 0,
      cost: 0n,
      priceVersion: null,
    };
  }
}
