import type { Refusal } from '../errors/catalogue.ts';
import { errorTypeOf, statusOf } from '../errors/error-body.ts';
import type { GenerationDetail } from '../generations/generation.ts';
import { newGenerationUuid, withLead } from '../ids/generation-id.ts';
import { generationOfRequest } from '../ids/request-id.ts';
import type { Key } from '../keys/key.ts';
import { type SettlementRow, type Settlements, Unbillable } from '../ledger/settlements.ts';
import { zeroKrw } from '../money/krw.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import type { CompletionKind } from '../wire/chat.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { requestDetail } from './request-record.ts';

/** Refusals of one key for one reason within this time are one record. */
const windowMs = 1_000;
/** The later requests of a record that can be found by their own ids. */
const maxFurtherIds = 32;

/** A request of a known key that was refused before it had a session. */
export interface RefusedRequest {
  readonly key: Key;
  readonly exchange: Pick<RequestContext, 'requestId' | 'header'>;
  readonly endpoint: CompletionKind;
  readonly refusal: Refusal;
}

/** What records of refusals are made of. */
export interface RefusalsParts {
  readonly settlements: Pick<Settlements, 'open' | 'settle'>;
  readonly clock: Clock;
}

interface Window {
  readonly row: Omit<SettlementRow, 'settledAtMs' | 'day' | 'detail'>;
  readonly detail: GenerationDetail;
  readonly furtherIds: string[];
  count: number;
  readonly timer: Timer;
}

/**
 * Records requests of known keys that were refused with 402 or 403, at zero cost (spec:errors/4.4).
 * A client that repeats such a request must not fill the disk: refusals of one key for one reason
 * within a second are one record with a count (spec:api/16.7). A record is written at the end of
 * its second, and can be read before.
 */
export class Refusals {
  readonly #parts: RefusalsParts;
  readonly #windows = new Map<string, Window>();
  readonly #writing = new Set<Promise<void>>();

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  /** Records a refusal; ignores one that is neither a 402 nor a 403. */
  note({ key, exchange, endpoint, refusal: { failure } }: RefusedRequest): void {
    const status = statusOf(failure);
    if (status !== 402 && status !== 403) return;
    const name = `${key.row.id} ${failure}`;
    const window = this.#windows.get(name);
    if (window !== undefined) {
      window.count += 1;
      if (window.furtherIds.length < maxFurtherIds) window.furtherIds.push(exchange.requestId);
      return;
    }
    const { clock } = this.#parts;
    const createdAtMs = clock.now();
    const detail = requestDetail(exchange, endpoint);
    const row = {
      uuid:
        generationOfRequest(exchange.requestId) ??
        withLead(newGenerationUuid(createdAtMs), key.row.accountId),
      accountId: key.row.accountId,
      keyId: key.row.id,
      createdAtMs,
      status,
      errorType: errorTypeOf(failure),
      model: null,
      provider: null,
      finishReason: null,
      promptTokens: 0,
      completionTokens: 0,
      cost: zeroKrw,
      priceVersion: null,
      app: detail.app ?? null,
    };
    const timer = clock.after(windowMs, () => this.#end(name));
    this.#windows.set(name, { row, detail, furtherIds: [], count: 1, timer });
  }

  /**
   * The record of a refusal that is not written yet, by its generation or the request id of any
   * refusal in it.
   */
  find(uuid: string): SettlementRow | undefined {
    for (const window of this.#windows.values())
      if (window.row.uuid === uuid || window.furtherIds.some((id) => generationOfRequest(id) === uuid))
        return this.#rowOf(window);
    return undefined;
  }

  /** Writes all records that are not written yet. */
  async close(): Promise<void> {
    for (const name of [...this.#windows.keys()]) this.#end(name);
    await Promise.all(this.#writing);
  }

  #end(name: string): void {
    const window = this.#windows.get(name);
    if (window === undefined) return;
    this.#windows.delete(name);
    window.timer.cancel();
    const writing = this.#write(this.#rowOf(window)).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Never throws: a server that cannot write serves no requests either. */
  async #write(row: SettlementRow): Promise<void> {
    const { settlements } = this.#parts;
    const { uuid, accountId, keyId, createdAtMs, detail, app } = row;
    try {
      await settlements.settle(settlements.open({ uuid, accountId, keyId, createdAtMs, detail, app }), row);
    } catch (error) {
      if (!(error instanceof Unbillable)) throw error;
    }
  }

  #rowOf({ row, detail, furtherIds, count }: Window): SettlementRow {
    const settledAtMs = this.#parts.clock.now();
    const counted: GenerationDetail = {
      ...detail,
      refusals: count,
      ...(furtherIds.length === 0 ? {} : { refused_request_ids: furtherIds }),
    };
    return { ...row, settledAtMs, day: seoulDayAt(settledAtMs), detail: JSON.stringify(counted) };
  }
}
