import { hash } from 'node:crypto';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { parseEmail } from './email.ts';
import { HasherBusy } from './password-hasher.ts';
import type { SignInClient } from './sessions.ts';
import { countAttempt, deleteAttempts, takeBackAttempt } from './throttle-sql.ts';

/**
 * How many attempts a window has, by what is counted. Counted in the database, so for all nodes
 * together.
 */
const rules = {
  /** By client address: every kind of sign-in. */
  address: { attempts: 30, windowMs: 15 * 60_000 },
  /** By client address: requested challenges and links; each stores or reads a row. */
  begin: { attempts: 200, windowMs: 15 * 60_000 },
  /** By client address: wrong tokens of operators. Apart, so that a machine locks out no person beside it. */
  token: { attempts: 30, windowMs: 15 * 60_000 },
  /** By e-mail address: guesses of a password. */
  name: { attempts: 10, windowMs: 15 * 60_000 },
  /** By owner: guesses of a TOTP code, each of which is right with a chance of 3 in a million. */
  code: { attempts: 10, windowMs: 60 * 60_000 },
} as const;

/** What an attempt counts for. */
export interface AttemptSubject {
  readonly kind: keyof typeof rules;
  readonly value: string;
}

/** An attempt that was not made: too many came before it, or too many passwords are being hashed. */
export type NotMade =
  | { readonly kind: 'throttled'; readonly retryAfterSec: number }
  | { readonly kind: 'busy' };

/** The client's address as the limit counts it. */
export function addressOf({ limitedAs }: SignInClient): AttemptSubject {
  return { kind: 'address', value: limitedAs };
}

/** An e-mail address, whatever its spelling, also one that cannot be one. */
export function nameOf(email: string): AttemptSubject {
  return { kind: 'name', value: parseEmail(email)?.key ?? email.slice(0, 320) };
}

/** Limits how often a sign-in may be tried. */
export class SignInThrottle {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Counts an attempt, and makes it when its subjects have one left. */
  async attempt<T>(subjects: readonly AttemptSubject[], make: () => Promise<T>): Promise<T | NotMade> {
    const retryAfterSec = await this.take(subjects);
    if (retryAfterSec !== null) return { kind: 'throttled', retryAfterSec };
    try {
      return await make();
    } catch (error) {
      if (error instanceof HasherBusy) return { kind: 'busy' };
      throw error;
    }
  }

  /**
   * Counts an attempt before it is made, so that concurrent ones are counted too. Returns null when
   * it may be made, and otherwise in how many seconds the next may be.
   */
  async take(subjects: readonly AttemptSubject[]): Promise<number | null> {
    const nowMs = this.#clock.now();
    const waits = await this.#database.transaction(async (sql) => {
      const found: number[] = [];
      // In one order, so that two attempts never wait for each other.
      for (const { subject, rule } of ordered(subjects)) {
        const { attempts, endsAtMs } = await countAttempt(sql, subject, nowMs, nowMs + rule.windowMs);
        if (attempts > rule.attempts) found.push(endsAtMs - nowMs);
      }
      return found;
    });
    return waits.length === 0 ? null : Math.max(1, Math.ceil(Math.max(...waits) / 1000));
  }

  /**
   * After a success: forgets the attempts of a name or an owner. Of an address only this attempt is
   * taken back: an account of its own must not give an attacker more guesses.
   */
  async succeeded(sql: Sql, subjects: readonly AttemptSubject[]): Promise<void> {
    for (const { kind, subject } of ordered(subjects)) {
      if (kind === 'address') await takeBackAttempt(sql, subject);
      else await deleteAttempts(sql, subject);
    }
  }
}

function ordered(subjects: readonly AttemptSubject[]) {
  return subjects
    .map(({ kind, value }) => ({
      kind,
      subject: hash('sha256', `${kind}\0${value}`, 'buffer'),
      rule: rules[kind],
    }))
    .sort((one, other) => Buffer.compare(one.subject, other.subject));
}
