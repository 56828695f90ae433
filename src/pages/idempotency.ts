import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import {
  type ChangeName,
  deleteChange,
  deleteChangesBefore,
  findChange,
  finishChange,
  insertChange,
  takeOverChange,
} from './idempotency-sql.ts';

/** A response as it is stored and repeated. */
export interface StoredReply {
  readonly status: number;
  readonly body: object;
  readonly cookies: readonly string[];
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

/**
 * Makes each change of the pages once, however often its request arrives, at whichever node. The
 * response is stored sealed: a response may contain a new key, which must exist in plaintext
 * nowhere.
 */
export class IdempotentChanges {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Makes the change, or returns the response that it had. Refuses another request with the same
   * key, and one whose first attempt runs for longer than 10 s. A change that throws is forgotten:
   * the same request may be sent again.
   */
  async once(request: ChangeRequest, make: () => Promise<StoredReply>): Promise<StoredReply> {
    const name = { scope: request.scope, keyHash: digest(request.key) };
    const fingerprint = digest(request.content);
    const earlier = await this.#begin(name, fingerprint, request.signal);
    if (earlier !== null) return open(earlier, request.key);
    try {
      const reply = await make();
      await finishChange(this.#database, name, seal(reply, request.key));
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

  /** The sealed response of an earlier attempt; null when this attempt must make the change. */
  async #begin(name: ChangeName, fingerprint: Buffer, signal: AbortSignal): Promise<Buffer | null> {
    const endMs = this.#clock.monotonic() + waitsForMs;
    for (;;) {
      const nowMs = this.#clock.now();
      if (await insertChange(this.#database, name, fingerprint, nowMs)) return null;
      const found = await findChange(this.#database, name);
      if (found !== null) {
        if (!found.fingerprint.equals(fingerprint))
          throw new PageRefusal('idempotency_conflict', pageMessages.idempotencyConflict);
        if (found.response !== null) return found.response;
        const hasEnded = nowMs - found.startedAtMs > runsForMs;
        if (hasEnded && (await takeOverChange(this.#database, name, found.startedAtMs, nowMs))) return null;
      }
      if (this.#clock.monotonic() > endMs)
        throw new PageRefusal('change_in_progress', pageMessages.changeInProgress, { retryAfterSec: 5 });
      await pause(this.#clock, lookEveryMs, signal);
    }
  }
}

const nonceBytes = 12;
const tagBytes = 16;

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The encryption key that only the sender of an idempotency key can derive. */
function sealingKey(key: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'naru page change', 32));
}

function seal(reply: StoredReply, key: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(key), nonce);
  const text = Buffer.concat([cipher.update(JSON.stringify(reply), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

function open(sealed: Buffer, key: string): StoredReply {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(key), sealed.subarray(0, nonceBytes));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const text = Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return JSON.parse(text.toString('utf8')) as StoredReply;
}
