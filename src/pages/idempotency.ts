import { hash } from 'node:crypto';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isRecent, pause } from '../time/clock.ts';
import {
  type ChangeName,
  deleteChange,
  deleteChangesBefore,
  findChange,
  finishChange,
  insertChange,
  takeOverChange,
} from './idempotency-sql.ts';

/** A response as it is stored and repeated: without cookies, and without secrets. */
export interface StoredReply {
  readonly status: number;
  readonly body: object;
}

/** One change of a page: its name, and what it requests. */
export interface ChangeRequest {
  /** Who makes it: keys of different people never meet. */
  readonly scope: string;
  /** A UUID in lower case. */
  readonly key: string;
  /** Everything that makes it this request: method, path and body. */
  readonly content: string;
  readonly signal: AbortSignal;
}

/** A change without a response after this time is one of a process that ended. */
const runsForMs = 60_000;
/** How long a repeated request waits for the first one. */
const waitsForMs = 10_000;
const lookEveryMs = 100;
/** How long a response can be repeated. */
const keptForMs = 86_400_000;

/** Makes each change of the pages once, however often its request arrives, at whichever node. */
export class IdempotentChanges {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Makes the change, or returns what the earlier attempt stored. `make` returns beside its response
   * what may be stored of it: a secret is only in the response of the attempt that makes the change
   * (spec:api/2.1). Refuses another request with the same
   * key, and one whose first attempt runs for longer than 10 s. A change that throws is forgotten:
   * the same request may be sent again.
   */
  async once<Reply>(
    request: ChangeRequest,
    make: () => Promise<{ readonly reply: Reply; readonly stored: StoredReply }>,
  ): Promise<Reply | StoredReply> {
    const name = { scope: request.scope, keyHash: digest(request.key) };
    const earlier = await this.#begin(name, digest(request.content), request.signal);
    if (earlier !== null) return JSON.parse(earlier) as StoredReply;
    try {
      const { reply, stored } = await make();
      await finishChange(this.#database, name, JSON.stringify(stored));
      return reply;
    } catch (error) {
      await deleteChange(this.#database, name);
      throw error;
    }
  }

  /** Forgets the changes of more than a day ago. */
  forgetOld(): Promise<void> {
    return deleteChangesBefore(this.#database, this.#clock.now() - keptForMs);
  }

  /** The stored response of an earlier attempt; null when this attempt must make the change. */
  async #begin(name: ChangeName, fingerprint: Buffer, signal: AbortSignal): Promise<string | null> {
    const endMs = this.#clock.monotonic() + waitsForMs;
    for (;;) {
      const nowMs = this.#clock.now();
      if (await insertChange(this.#database, name, fingerprint, nowMs)) return null;
      const found = await findChange(this.#database, name);
      if (found !== null) {
        if (!found.fingerprint.equals(fingerprint))
          throw new PageRefusal('idempotency_conflict', pageMessages.idempotencyConflict);
        if (found.reply !== null) return found.reply;
        const hasEnded = !isRecent(found.startedAtMs, nowMs, runsForMs);
        if (hasEnded && (await takeOverChange(this.#database, name, found.startedAtMs, nowMs))) return null;
      }
      if (this.#clock.monotonic() > endMs)
        throw new PageRefusal('change_in_progress', pageMessages.changeInProgress, { retryAfterSec: 5 });
      await pause(this.#clock, lookEveryMs, signal);
    }
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
