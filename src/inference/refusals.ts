import type { KeyHash } from '../accounts/api-key.ts';
import type { Key } from '../accounts/key.ts';
import type { KeyCache } from '../accounts/key-cache.ts';
import type { KeyRow } from '../accounts/keys-sql.ts';
import { errorTypeOf, type Failure, type Refusal, statusOf } from '../errors/catalogue.ts';
import { Unbillable } from '../errors/unbillable.ts';
import type { GenerationDetail } from '../generations/generation.ts';
import type { SettlementRow, Settlements } from '../ledger/settlements.ts';
import { zeroKrw } from '../money/krw.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import type { CompletionKind } from '../wire/chat.ts';
import { newGenerationUuid, withLead } from '../wire/ids/generation-id.ts';
import { generationOfRequest } from '../wire/ids/request-id.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { requestDetail } from './request-record.ts';

/** Refusals of one key for one reason within this time are one record. */
const windowMs = 1_000;
/** The later requests of a record that can be found by their own ids. */
const maxFurtherIds = 32;

/**
 * While so many settlements wait for the database, a record counts further refusals for longer than
 * the window.
 */
const maxUnsettled = 10_000;
/** The records of keys that memory does not have: the database shows later which exist. */
const maxUnknownKeys = 256;

/** A request that was refused before it had a session. */
export interface RefusedRequest {
  readonly hash: KeyHash;
  /** Null: memory does not have the key. */
  readonly key: Key | null;
  readonly exchange: Pick<RequestContext, 'requestId' | 'header'>;
  readonly endpoint: CompletionKind;
  readonly refusal: Refusal;
}

/** What records of refusals are made of. */
export interface RefusalsParts {
  readonly settlements: Pick<Settlements, 'open' | 'settle' | 'backlog'>;
  readonly keys: Pick<KeyCache, 'load'>;
  readonly clock: Clock;
  /** Whether the database is away. */
  readonly isAway: () => boolean;
}

interface Window {
  readonly hash: KeyHash;
  /** Null until it was read. */
  key: Pick<KeyRow, 'id' | 'accountId'> | null;
  readonly createdAtMs: number;
  readonly failure: Failure;
  readonly detail: GenerationDetail;
  readonly requestId: string;
  readonly furtherIds: string[];
  count: number;
  timer: Timer;
}

/**
 * Records requests of known keys that were refused with 402, 403 or 429, or with 500 because the
 * database was away, at zero cost (spec:errors/4.4). A client that repeats such a request must not fill the
 * disk: refusals of one key for one reason within a second are one record with a count
 * (spec:api/16.7). A record is written at the end of its second, and can be read before.
 */
export class Refusals {
  readonly #parts: RefusalsParts;
  readonly #windows = new Map<string, Window>();
  readonly #writing = new Set<Promise<void>>();
  #unknownKeys = 0;
  #isClosing = false;

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  /** Records a refusal; ignores those of other kinds, and what is no inference key. */
  note({ hash, key, exchange, endpoint, refusal: { failure } }: RefusedRequest): void {
    const status = statusOf(failure);
    if (![402, 403, 429].includes(status) && failure !== 'database_away') return;
    if (key !== null && isInvalid(key.row)) return;
    const name = `${hash} ${failure}`;
    const window = this.#windows.get(name);
    if (window !== undefined) {
      window.count += 1;
      if (window.furtherIds.length < maxFurtherIds) window.furtherIds.push(exchange.requestId);
      return;
    }
    if (key === null) {
      if (this.#unknownKeys >= maxUnknownKeys) return;
      this.#unknownKeys += 1;
    }
    const { clock } = this.#parts;
    this.#windows.set(name, {
      hash,
      key: key?.row ?? null,
      createdAtMs: clock.now(),
      failure,
      detail: requestDetail(exchange, endpoint),
      requestId: exchange.requestId,
      furtherIds: [],
      count: 1,
      timer: clock.after(windowMs, () => void this.#end(name)),
    });
  }

  /**
   * The record of a refusal that is not written yet, by its generation or the request id of any
   * refusal in it.
   */
  find(uuid: string): SettlementRow | undefined {
    for (const window of this.#windows.values())
      if ([window.requestId, ...window.furtherIds].some((id) => generationOfRequest(id) === uuid))
        return this.#rowOf(window);
    return undefined;
  }

  /** Writes all records that are not written yet, of unknown keys those that the database has. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#windows.keys()].map((name) => this.#end(name)));
    await Promise.all(this.#writing);
  }

  /** Ends a window, unless the database must be waited for. Never rejects. */
  async #end(name: string): Promise<void> {
    const window = this.#windows.get(name);
    if (window === undefined) return;
    const { settlements, clock, isAway } = this.#parts;
    const isUnknown = window.key === null;
    const mustWait = isUnknown
      ? isAway() || !(await this.#find(window))
      : isAway() && settlements.backlog >= maxUnsettled;
    // It was ended while its key was read.
    if (this.#windows.get(name) !== window) return;
    if (mustWait && !this.#isClosing) {
      window.timer = clock.after(windowMs, () => void this.#end(name));
      return;
    }
    if (isUnknown) this.#unknownKeys -= 1;
    this.#finish(name, window);
  }

  /** Reads the key of a window; false when the database does not respond. */
  async #find(window: Window): Promise<boolean> {
    try {
      const key = await this.#parts.keys.load(window.hash);
      window.key = key === null || isInvalid(key.row) ? null : key.row;
      return true;
    } catch {
      return false;
    }
  }

  #finish(name: string, window: Window): void {
    this.#windows.delete(name);
    window.timer.cancel();
    const row = this.#rowOf(window);
    if (row === undefined) return;
    const writing = this.#write(row).finally(() => this.#writing.delete(writing));
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

  /** Undefined: there is no such key, as far as is known. */
  #rowOf(window: Window): SettlementRow | undefined {
    const { key, createdAtMs, failure, detail, requestId, furtherIds, count } = window;
    if (key === null) return undefined;
    const settledAtMs = this.#parts.clock.now();
    const counted: GenerationDetail = {
      ...detail,
      refusals: count,
      ...(furtherIds.length === 0 ? {} : { refused_request_ids: furtherIds }),
    };
    return {
      uuid: generationOfRequest(requestId) ?? withLead(newGenerationUuid(createdAtMs), key.accountId),
      accountId: key.accountId,
      keyId: key.id,
      createdAtMs,
      settledAtMs,
      day: seoulDayAt(settledAtMs),
      status: statusOf(failure),
      errorType: errorTypeOf(failure),
      model: null,
      provider: null,
      finishReason: null,
      promptTokens: 0,
      completionTokens: 0,
      cost: zeroKrw,
      priceVersion: null,
      detail: JSON.stringify(counted),
      app: detail.app ?? null,
    };
  }
}

/** A request with such a key would have been refused with 401, which is not recorded (spec:api/16.6). */
function isInvalid({ kind, revokedAtMs }: KeyRow): boolean {
  return kind !== 'inference' || revokedAtMs !== null;
}
