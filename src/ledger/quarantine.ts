import { counted } from '../errors/counted.ts';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { describeError, type Log } from '../log/log.ts';
import { recordChange } from '../store/changes.ts';
import { isConnectionLoss } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import type { Journal, Ticket } from './journal/journal.ts';
import { decodeFinal, encodeFinal } from './journal-records.ts';
import { findUnknownKeys } from './orphaned-requests.ts';
import {
  listQuarantined,
  type QuarantinedEntry,
  resolveQuarantined,
  storeQuarantined,
} from './quarantine-sql.ts';
import { type SettlementRow, settleBatch, Uncharged } from './settlement-sql.ts';
import { readSettled } from './settlement-statements-sql.ts';
import { mayPass } from './settler.ts';

/** The rest of a longer reason adds nothing. */
const maxReasonLength = 2_000;

/** A refused settlement that is not stored in the quarantine yet. */
interface Refused {
  readonly row: SettlementRow;
  readonly reason: string;
  readonly tickets: readonly Ticket[];
  /** The attempt under way. */
  storing: Promise<void> | null;
  wasReported: boolean;
}

/**
 * The settlements that the database refused for their content. Each becomes a row of the
 * quarantine, and an operator decides about it. Until that row is stored the journal keeps the
 * settlement, and the next start finds it there.
 */
export class Quarantine {
  readonly #database: Database;
  readonly #journal: Pick<Journal, 'release'>;
  readonly #log: Log;
  readonly #refused = new Map<string, Refused>();
  #storingAgain: Promise<void> | null = null;

  constructor(parts: {
    readonly database: Database;
    readonly journal: Pick<Journal, 'release'>;
    readonly log: Log;
  }) {
    this.#database = parts.database;
    this.#journal = parts.journal;
    this.#log = parts.log;
  }

  /** Refused settlements that only the journal has. */
  get unstored(): number {
    return this.#refused.size;
  }

  /**
   * Adds a refused settlement with its records in the journal. Resolves after the first attempt to
   * store it; never rejects.
   */
  add(row: SettlementRow, reason: string, tickets: readonly Ticket[]): Promise<void> {
    const refused: Refused = { row, reason, tickets, storing: null, wasReported: false };
    this.#refused.set(row.uuid, refused);
    return this.#store(refused);
  }

  /**
   * Retries to store what could not be stored; one pass at a time, which a further call joins.
   * Never rejects.
   */
  storeAgain(): Promise<void> {
    this.#storingAgain ??= this.#storeEach([...this.#refused.values()]).finally(() => {
      this.#storingAgain = null;
    });
    return this.#storingAgain;
  }

  /**
   * Resolves when everything refused until now is stored. Rejects when an attempt fails: then only
   * the journal has it, and a backup would lack an acknowledged charge.
   */
  async stored(): Promise<void> {
    const waiting = [...this.#refused.values()];
    await this.#storeEach(waiting);
    const left = waiting.filter((refused) => this.#isUnstored(refused)).length;
    if (left > 0)
      throw new Error(
        `only the journal has ${counted(left, 'settlement')} that the database refuses: the quarantine cannot be written`,
      );
  }

  async #storeEach(waiting: readonly Refused[]): Promise<void> {
    // Stored meanwhile: its tickets are released, and once more would release other records.
    for (const refused of waiting) if (this.#isUnstored(refused)) await this.#store(refused);
  }

  #isUnstored(refused: Refused): boolean {
    return this.#refused.get(refused.row.uuid) === refused;
  }

  /** Joins the attempt under way, or begins one. */
  #store(refused: Refused): Promise<void> {
    refused.storing ??= this.#tryToStore(refused).finally(() => {
      refused.storing = null;
    });
    return refused.storing;
  }

  async #tryToStore(refused: Refused): Promise<void> {
    const { row, reason, tickets } = refused;
    try {
      await this.#database.transaction((sql) =>
        storeQuarantined(sql, {
          ...row,
          record: Buffer.from(encodeFinal(row)),
          reason: reason.replaceAll('\0', '').slice(0, maxReasonLength),
        }),
      );
      if (this.#isUnstored(refused)) this.#refused.delete(row.uuid);
      for (const ticket of tickets) this.#journal.release(ticket);
    } catch (error) {
      if (!refused.wasReported)
        this.#log.error('quarantine_not_stored', { generation: row.uuid, detail: describeError(error) });
      refused.wasReported = true;
    }
  }
}

/**
 * The result of settling refused settlements again, by generation: null, or the reason of the new
 * refusal.
 */
export type RetryOutcome = ReadonlyMap<string, string | null>;

/**
 * Settles refused settlements again, one or all of them; running servers follow within a second.
 * Throws when the database is away: what was settled before that stays settled.
 */
export async function retryQuarantined(database: Database, only: string | null): Promise<RetryOutcome> {
  const outcome = new Map<string, string | null>();
  const waiting = (await listQuarantined(database)).filter(({ uuid }) => only === null || uuid === only);
  for (const entry of waiting) outcome.set(entry.uuid, await settleEntry(database, entry));
  return outcome;
}

async function settleEntry(database: Database, entry: QuarantinedEntry): Promise<string | null> {
  const row = decodeFinal(entry.record.toString());
  const refuse = async (reason: string): Promise<string> => {
    await database.transaction((sql) => storeQuarantined(sql, { ...entry, reason }));
    return reason;
  };
  const unknownKey = (await findUnknownKeys(database, [row])).get(row.uuid);
  if (unknownKey !== undefined) return refuse(unknownKey);
  let isCommitting = false;
  try {
    // One transaction: a decision that another operator makes meanwhile undoes the charge. The
    // quarantine need not be where the account is, so `settle` cannot be used.
    await database.placement.orderedFor(row.accountId).run((sql, client) =>
      settleBatch(client, [row], {
        leftovers: [row],
        beforeCommit: () => endAsSettled(sql, row),
        onCommit: () => {
          isCommitting = true;
        },
      }),
    );
    return null;
  } catch (error) {
    if (isCommitting && isConnectionLoss(error)) throw new OutcomeUnknown(error);
    if (mayPass(error)) throw error;
    return refuse(describeError(error));
  }
}

/**
 * Ends the wait of a settlement in the transaction that settles it. Throws when it has ended, and when
 * its own process had given it up (`readGivenUp`).
 */
async function endAsSettled(sql: Sql, row: SettlementRow): Promise<void> {
  const { text, values } = readSettled([row]);
  if (row.cost > 0n && (await sql.query(text, values)).length === 0)
    throw new Uncharged('its own process recorded the request as failed: write it off');
  if (!(await resolveQuarantined(sql, row.uuid, 'settled', null)))
    throw new Error('another operator has decided about it meanwhile');
  await recordChange(sql, 'account', row.accountId);
  await recordChange(sql, 'key', row.keyId);
}

/**
 * Writes a refused settlement off, with a reason; false when none of this generation waits for a
 * decision.
 */
export function writeOffQuarantined(
  database: Transactions,
  { uuid, reason }: { readonly uuid: string; readonly reason: string },
): Promise<boolean> {
  return database.transaction((sql) => resolveQuarantined(sql, uuid, 'written off', reason));
}
