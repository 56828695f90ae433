import { hash } from 'node:crypto';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { countAttempt, deleteAttempts, deleteEndedWindows, takeBackAttempt } from './throttle-sql.ts';

/**
 * How many attempts a window has, by what is counted. Counted in the database, so for all nodes
 * together.
 */
const rules = {
  /** By client address: every kind of sign-in. */
  address: { attempts: 30, windowMs: 15 * 60_000 },
  /** By client address: requested challenges and links; each stores or reads a row. */
  begin: { attempts: 200, windowMs: 15 * 60_000 },
  /** By e-mail address: guesses of a password. */
  name: { attempts: 10, windowMs: 15 * 60_000 },
  /** By owner: guesses of a TOTP code, each of which is right with a chance of 3 in a million. */
  code: { attempts: 10, windowMs: 60 * 60_000 },
} as const;

/** What an attempt counts for. */
export type AttemptKind = keyof typeof rules;
export interface AttemptSubject {
  readonly kind: AttemptKind;
  readonly value: string;
}

/** Limits how often a sign-in may be tried. */
export class SignInThrottle {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Counts an attempt before it is made, so that concurrent ones are counted too. Returns null when
   * it may be made, and otherwise in how many seconds the next may be.
   */
  async take(subjects: readonly AttemptSubject[], nowMs: number): Promise<number | null> {
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

  /** Deletes the windows that have ended. */
  async prune(sql: Sql, nowMs: number): Promise<void> {
    await deleteEndedWindows(sql, nowMs);
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
