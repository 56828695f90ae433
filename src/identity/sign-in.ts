import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { recordAct } from './audit-sql.ts';
import { parseEmail } from './email.ts';
import type { OneTimeLinks } from './links.ts';
import { accountFault } from './links-sql.ts';
import { findOperatorById, type Operator } from './operators-sql.ts';
import { findOwner, findOwnerByEmail, lockOwner, replaceHash } from './owners-sql.ts';
import type { PasskeySite, Passkeys } from './passkeys.ts';
import type { PasswordHasher } from './password-hasher.ts';
import type { OpenedSession, Sessions, SignInClient } from './sessions.ts';
import type { SessionOwner, SignInWay } from './sessions-sql.ts';
import { beginStep, endStep, tryStep } from './steps-sql.ts';
import { type AttemptSubject, addressOf, type NotMade, nameOf, type SignInThrottle } from './throttle.ts';
import { acceptCode } from './totp.ts';

/**
 * The outcome of an attempt. `failed` does not state why: a wrong password and an unknown name get
 * the same response. `closed`: the credentials are right, and the account is closed.
 */
export type SignInOutcome =
  | { readonly kind: 'session'; readonly session: OpenedSession }
  | { readonly kind: 'totp'; readonly step: string }
  | { readonly kind: 'failed' }
  | { readonly kind: 'closed' }
  | NotMade;

const failed: SignInOutcome = { kind: 'failed' };

/** The parts of a sign-in. */
export interface SignInParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly links: OneTimeLinks;
  readonly passkeys: Passkeys;
  readonly operatorPasskeys: Passkeys;
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
    const { database, clock, hasher, throttle } = this.#parts;
    const subjects = [addressOf(client), nameOf(attempt.email)];
    return throttle.attempt(subjects, async () => {
      const email = parseEmail(attempt.email);
      const owner = email === null ? null : await findOwnerByEmail(database, email);
      const stored = owner?.password ?? null;
      const isRight = await hasher.verify(attempt.password, stored);
      if (owner === null || stored === null || !isRight) return failed;
      const { ownerId } = owner;
      if (owner.totpEnabledAtMs !== null) {
        const begun = { kind: 'totp', ownerId, data: {} } as const;
        const step = await database.transaction((sql) => beginStep(sql, begun, clock.now()));
        return { kind: 'totp', step };
      }
      const stronger = hasher.needsRehash(stored) ? await hasher.hash(attempt.password) : null;
      return database.transaction(async (sql) => {
        // A reset may have changed the password meanwhile.
        const current = await lockOwner(sql, ownerId);
        if (current?.password !== stored) return failed;
        if (stronger !== null) await replaceHash(sql, ownerId, stronger);
        return this.open(sql, current, 'password', client, subjects);
      });
    });
  }

  /** The second step of a sign-in by password: a code of the app, or a recovery code. */
  async withCode(
    attempt: { readonly step: string; readonly code: string },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, clock, throttle } = this.#parts;
    const address = addressOf(client);
    return throttle.attempt([address], async () => {
      const nowMs = clock.now();
      const begun = await database.transaction((sql) => tryStep(sql, 'totp', attempt.step, nowMs));
      if (begun?.ownerId == null) return failed;
      const { ownerId } = begun;
      const codes: AttemptSubject = { kind: 'code', value: String(ownerId) };
      return throttle.attempt([codes], () =>
        database.transaction(async (sql) => {
          const owner = await lockOwner(sql, ownerId);
          if (owner === null || !(await acceptCode(sql, owner, attempt.code, nowMs))) return failed;
          if ((await endStep(sql, 'totp', attempt.step, nowMs)) === null) return failed;
          return this.open(sql, owner, 'password', client, [address, codes, nameOf(owner.email)]);
        }),
      );
    });
  }

  /** By a passkey, which is two factors. */
  async withPasskey(
    site: PasskeySite,
    reply: { readonly step: string; readonly response: AuthenticationResponseJSON },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, passkeys, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], async () => {
      const ownerId = await passkeys.verify(site, reply);
      if (ownerId === null) return failed;
      return database.transaction(async (sql) => {
        const owner = await findOwner(sql, ownerId);
        return owner === null ? failed : this.open(sql, owner, 'passkey', client);
      });
    });
  }

  /** The same for an operator. One that the OpenID provider knows signs in there: its groups decide. */
  async withOperatorPasskey(
    site: PasskeySite,
    reply: { readonly step: string; readonly response: AuthenticationResponseJSON },
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, operatorPasskeys, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], async () => {
      const operatorId = await operatorPasskeys.verify(site, reply);
      if (operatorId === null) return failed;
      return database.transaction(async (sql) => {
        const operator = await findOperatorById(sql, operatorId);
        if (operator === null || operator.oidcIssuer !== null) return failed;
        return this.openConsole(sql, operator, 'passkey', client);
      });
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
    const { database, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], async () => {
      if (key === null) return failed;
      return database.transaction((sql) => this.open(sql, { ...key, ownerId: null }, 'key', client));
    });
  }

  /** By a one-time link that needs no further step: of an account, or of an operator. */
  async withLink(
    purpose: 'account' | 'console',
    token: string,
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const { database, links, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], () =>
      database.transaction(async (sql) => {
        const link = await links.use(sql, token, purpose);
        if (link?.accountId != null)
          return this.open(sql, { accountId: link.accountId, ownerId: null }, 'link', client);
        const operator = link?.operatorId == null ? null : await findOperatorById(sql, link.operatorId);
        return operator === null ? failed : this.openConsole(sql, operator, 'link', client);
      }),
    );
  }

  /**
   * Counts a challenge or a link that a browser requests; returns in how many seconds it may
   * request again, or null.
   */
  countBegin({ limitedAs }: SignInClient): Promise<number | null> {
    return this.#parts.throttle.take([{ kind: 'begin', value: limitedAs }]);
  }

  /** Opens a session of an operator in a transaction, with an act in the audit log. */
  async openConsole(
    sql: Sql,
    { operatorId, name, role }: Operator,
    via: SignInWay,
    client: SignInClient,
  ): Promise<SignInOutcome> {
    const act = { act: 'operator.sign_in', subject: name, after: { via } };
    await recordAct(sql, { kind: 'operator', operatorId, name, role }, act, this.#parts.clock.now());
    return this.open(sql, { operatorId }, via, client);
  }

  /**
   * Opens a session in a transaction, unless the account is closed, and takes back the attempts that
   * led to it.
   */
  async open(
    sql: Sql,
    owner: SessionOwner,
    via: SignInWay,
    client: SignInClient,
    subjects: readonly AttemptSubject[] = [addressOf(client)],
  ): Promise<SignInOutcome> {
    await this.#parts.throttle.succeeded(sql, subjects);
    if ('accountId' in owner && (await accountFault(sql, owner.accountId)) === 'account_closed')
      return { kind: 'closed' };
    return { kind: 'session', session: await this.#parts.sessions.open(sql, owner, via, client) };
  }
}
