import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { parseEmail } from './email.ts';
import type { OneTimeLinks } from './links.ts';
import { findOwnerByEmail, lockOwner, type OwnerCredentials, replaceHash } from './owners-sql.ts';
import type { PasskeySite, Passkeys } from './passkeys.ts';
import { HasherBusy, type PasswordHasher } from './password-hasher.ts';
import type { ClientInfo, OpenedSession, SessionOwner, Sessions, SignInWay } from './sessions.ts';
import { beginStep, endStep, tryStep } from './steps-sql.ts';
import type { AttemptSubject, SignInThrottle } from './throttle.ts';
import { acceptCode } from './totp.ts';

/** Who tries to sign in: the browser, and the session token that it has now. */
export interface SignInClient extends ClientInfo {
  readonly earlierToken: string | null;
  /** What the limit of attempts counts: the address, or the network of an IPv6 address. */
  readonly limitedAs: string;
}

/**
 * The outcome of an attempt. `failed` does not state why: a wrong password and an unknown name get
 * the same response.
 */
export type SignInOutcome =
  | { readonly kind: 'session'; readonly session: OpenedSession }
  | { readonly kind: 'totp'; readonly step: string }
  | { readonly kind: 'failed' }
  | { readonly kind: 'throttled'; readonly retryAfterSec: number }
  | { readonly kind: 'busy' };

const failed: SignInOutcome = { kind: 'failed' };

/** The parts of a sign-in. */
export interface SignInParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly links: OneTimeLinks;
  readonly passkeys: Passkeys;
  readonly throttle: SignInThrottle;
  readonly hasher: PasswordHasher;
}

/** The ways in. Every attempt is counted before it is made. */
export class SignIn {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /**
   * By e-mail address and password; with TOTP on, a code follows. An unknown address takes as long
   * as a known one.
   */
  async withPassword(
    attempt: { readonly email: string; readonly password: string },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, clock, hasher } = this.#parts;
    const email = parseEmail(attempt.email);
    const subjects = [
      addressOf(client),
      { kind: 'name', value: email?.key ?? attempt.email.slice(0, 320) } as const,
    ];
    return this.#counted(subjects, async () => {
      const owner = email === null ? null : await findOwnerByEmail(database, email);
      const stored = owner?.password ?? null;
      const isRight = await hasher.verify(attempt.password, stored);
      if (owner === null || stored === null || !isRight) return failed;
      if (owner.totpEnabledAtMs !== null) {
        const step = await database.transaction((sql) =>
          beginStep(sql, { kind: 'totp', ownerId: owner.ownerId, data: {} }, clock.now()),
        );
        return { kind: 'totp', step };
      }
      const stronger = hasher.needsRehash(stored) ? await hasher.hash(attempt.password) : null;
      return database.transaction(async (sql) => {
        // A reset may have changed the password meanwhile.
        const current = await lockOwner(sql, owner.ownerId);
        if (current?.password !== stored) return failed;
        if (stronger !== null) await replaceHash(sql, owner.ownerId, stored, stronger);
        return this.#open(sql, ownerSession(current), { via: 'password', client, subjects });
      });
    });
  }

  /** The second step of a sign-in by password: a code of the app, or a recovery code. */
  async withCode(
    attempt: { readonly step: string; readonly code: string },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, clock, throttle } = this.#parts;
    return this.#counted([addressOf(client)], async () => {
      const nowMs = clock.now();
      const begun = await database.transaction((sql) => tryStep(sql, 'totp', attempt.step, nowMs));
      if (begun?.ownerId == null) return failed;
      const { ownerId } = begun;
      const codes: AttemptSubject = { kind: 'code', value: String(ownerId) };
      const retryAfterSec = await throttle.take([codes], nowMs);
      if (retryAfterSec !== null) return { kind: 'throttled', retryAfterSec };
      return database.transaction(async (sql) => {
        const owner = await lockOwner(sql, ownerId);
        if (owner === null || !(await acceptCode(sql, owner, attempt.code, nowMs))) return failed;
        if ((await endStep(sql, 'totp', attempt.step, nowMs)) === null) return failed;
        const name: AttemptSubject = { kind: 'name', value: parseEmail(owner.email)?.key ?? owner.email };
        return this.#open(sql, ownerSession(owner), {
          via: 'password',
          client,
          subjects: [addressOf(client), codes, name],
        });
      });
    });
  }

  /** By a passkey, which is two factors. */
  async withPasskey(
    site: PasskeySite,
    reply: { readonly step: string; readonly response: AuthenticationResponseJSON },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const subjects = [addressOf(client)];
    return this.#counted(subjects, async () => {
      const owner = await this.#parts.passkeys.verify(site, reply);
      if (owner === null) return failed;
      return this.#parts.database.transaction((sql) =>
        this.#open(sql, ownerSession(owner), { via: 'passkey', client, subjects }),
      );
    });
  }

  /**
   * By a management key, which the caller has looked up and checked: null is a key that may not
   * sign in. The session ends with the key, and after 12 h.
   */
  async withKey(
    key: { readonly keyId: number; readonly accountId: number } | null,
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const subjects = [addressOf(client)];
    return this.#counted(subjects, async () => {
      if (key === null) return failed;
      const owner: SessionOwner = {
        kind: 'owner',
        accountId: key.accountId,
        ownerId: null,
        keyId: key.keyId,
      };
      return this.#parts.database.transaction((sql) =>
        this.#open(sql, owner, { via: 'key', client, subjects }),
      );
    });
  }

  /** By a one-time link that needs no further step: of an account, or of an operator. */
  async withLink(
    purpose: 'account' | 'console',
    token: string,
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const subjects = [addressOf(client)];
    return this.#counted(subjects, () =>
      this.#parts.database.transaction(async (sql) => {
        const owner = await this.#ownerOfLink(sql, purpose, token);
        return owner === null ? failed : this.#open(sql, owner, { via: 'link', client, subjects });
      }),
    );
  }

  /**
   * Counts a challenge or a link that a browser requests; returns in how many seconds it may
   * request again, or null.
   */
  countBegin({ limitedAs }: SignInClient): Promise<number | null> {
    const { throttle, clock } = this.#parts;
    return throttle.take([{ kind: 'begin', value: limitedAs }], clock.now());
  }

  /** Opens a session in a transaction, and takes back the attempts that led to it. */
  async openFor(
    sql: Sql,
    owner: OwnerCredentials,
    via: SignInWay,
    client: SignInClient,
  ): Promise<SignInOutcome> {
    return this.#open(sql, ownerSession(owner), { via, client, subjects: [addressOf(client)] });
  }

  /** Runs an attempt if its subjects have one left. */
  async #counted(
    subjects: readonly AttemptSubject[],
    attempt: () => Promise<SignInOutcome>,
  ): Promise<SignInOutcome> {
    return countedAttempt(this.#parts, subjects, attempt);
  }

  async #open(
    sql: Sql,
    owner: SessionOwner,
    how: {
      readonly via: SignInWay;
      readonly client: SignInClient;
      readonly subjects: readonly AttemptSubject[];
    },
  ): Promise<SignInOutcome> {
    const { sessions, throttle } = this.#parts;
    await throttle.succeeded(sql, how.subjects);
    const { via, client } = how;
    return {
      kind: 'session',
      session: await sessions.open(sql, owner, { via, client, earlierToken: client.earlierToken }),
    };
  }

  async #ownerOfLink(sql: Sql, purpose: 'account' | 'console', token: string): Promise<SessionOwner | null> {
    const link = await this.#parts.links.use(sql, token, purpose);
    if (link?.accountId != null) return { kind: 'owner', accountId: link.accountId, ownerId: null };
    if (link?.operatorId != null) return { kind: 'operator', operatorId: link.operatorId };
    return null;
  }
}

/** Counts an attempt, and runs it when its subjects have one left. */
export async function countedAttempt<T>(
  { throttle, clock }: Pick<SignInParts, 'throttle' | 'clock'>,
  subjects: readonly AttemptSubject[],
  attempt: () => Promise<T>,
): Promise<T | Extract<SignInOutcome, { kind: 'throttled' | 'busy' }>> {
  const retryAfterSec = await throttle.take(subjects, clock.now());
  if (retryAfterSec !== null) return { kind: 'throttled', retryAfterSec };
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof HasherBusy) return { kind: 'busy' };
    throw error;
  }
}

/** The client's address as the limit counts it. */
export function addressOf({ limitedAs }: SignInClient): AttemptSubject {
  return { kind: 'address', value: limitedAs };
}

function ownerSession({ accountId, ownerId }: OwnerCredentials): SessionOwner {
  return { kind: 'owner', accountId, ownerId };
}
