import { isDuplicate } from '../store/connection.ts';
import type { Sql } from '../store/sql.ts';
import { isRecent } from '../time/clock.ts';
import { parseEmail } from './email.ts';
import {
  deleteOwner,
  findOwner,
  findOwnerOfAccount,
  insertOwner,
  lockOwner,
  type Owner,
  type OwnerCredentials,
  type Preferences,
  readOwner,
  setEmailVerified,
  setPassword,
  updateProfile,
} from './owners-sql.ts';
import { isAcceptablePassword } from './password-hasher.ts';
import { exportPersonalData } from './personal-data.ts';
import { recoveryCodesLeft } from './recovery-codes-sql.ts';
import { recentSignInMs, type Session, type SignInClient } from './sessions.ts';
import { deleteSessions } from './sessions-sql.ts';
import type { SignIn, SignInOutcome, SignInParts } from './sign-in.ts';
import { addressOf, type NotMade, nameOf } from './throttle.ts';
import { beginTotp, disableTotp, enableTotp, type TotpEnrolment } from './totp.ts';

/** What prevents a link from being redeemed. */
export type RedeemFault =
  | 'invalid_link'
  | 'invalid_email'
  | 'email_taken'
  | 'account_has_owner'
  | 'weak_password';

/** The outcome of what makes an owner, or sets its password again, and signs it in. */
export type RedeemOutcome = SignInOutcome | { readonly kind: 'refused'; readonly why: RedeemFault };
type OwnerSession = Extract<Session, { kind: 'owner' }>;

/** What a new owner states. */
interface NewOwner {
  readonly email: string | null;
  readonly password: string;
  readonly name: string | null;
}

/** The acts of owners: joining by a link, password, second factor, profile, personal data. */
export class Owners {
  readonly #parts: SignInParts;
  readonly #signIn: SignIn;

  constructor(parts: SignInParts, signIn: SignIn) {
    this.#parts = parts;
    this.#signIn = signIn;
  }

  /**
   * Redeems an invitation, which makes an owner, or a reset, which sets the password again and ends
   * every session of the owner. Both sign in. A fault leaves the link unused.
   */
  async redeem(order: NewOwner & { readonly token: string }, client: SignInClient): Promise<RedeemOutcome> {
    const { links, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], async () => {
      const link = await links.read(order.token);
      if (link?.purpose !== 'invitation' && link?.purpose !== 'reset') return refused('invalid_link');
      const { purpose, accountId } = link;
      const stated = { ...order, email: link.email ?? order.email };
      return this.#join(purpose, accountId, stated, client, async (sql, password) => {
        const used = await links.use(sql, order.token, purpose);
        if (used === null) return null;
        return used.ownerId === null
          ? this.#insert(sql, accountId, { ...stated, password }, link.email !== null)
          : this.#reset(sql, used.ownerId, password);
      });
    });
  }

  /**
   * Makes the owner of an account whose session came from an account link; signs it in with a new
   * session.
   */
  async claim(session: OwnerSession, order: NewOwner, client: SignInClient): Promise<RedeemOutcome> {
    const { accountId, via, ownerId } = session;
    return this.#parts.throttle.attempt([addressOf(client)], async () => {
      if (via !== 'link' || ownerId !== null) return refused('invalid_link');
      return this.#join('invitation', accountId, order, client, (sql, password) =>
        this.#insert(sql, accountId, { ...order, password }, false),
      );
    });
  }

  /** One owner, or null. */
  read(ownerId: number): Promise<Owner | null> {
    return readOwner(this.#parts.database, ownerId);
  }

  /** The owner of an account, or null. */
  ofAccount(accountId: number): Promise<Owner | null> {
    return findOwnerOfAccount(this.#parts.database, accountId);
  }

  /** Changes the name and the preferences; null when the owner is gone. */
  updateProfile(
    ownerId: number,
    change: { readonly name?: string | null; readonly preferences?: Preferences },
  ): Promise<Owner | null> {
    return this.#parts.database.transaction((sql) => updateProfile(sql, ownerId, change));
  }

  /**
   * Whether this session may change credentials: it is recent, or the password is right. An owner
   * without a password must sign in again.
   */
  async confirm(
    session: OwnerSession,
    password: string | null,
    client: SignInClient,
  ): Promise<'confirmed' | 'confirm' | NotMade> {
    const { database, clock, hasher, throttle } = this.#parts;
    if (isRecent(session.createdAtMs, clock.now(), recentSignInMs)) return 'confirmed';
    const owner = session.ownerId === null ? null : await findOwner(database, session.ownerId);
    if (owner?.password == null || password === null) return 'confirm';
    const subjects = [addressOf(client), nameOf(owner.email)];
    return throttle.attempt(subjects, async () => {
      if (!(await hasher.verify(password, owner.password))) return 'confirm';
      await database.transaction((sql) => throttle.succeeded(sql, subjects));
      return 'confirmed';
    });
  }

  /**
   * Sets the password and ends every other session of the owner. The caller has confirmed the
   * session.
   */
  async setPassword(
    ownerId: number,
    password: string,
    sessionId: string,
  ): Promise<'done' | 'weak_password' | 'no_such_owner' | 'busy'> {
    if (!isAcceptablePassword(password)) return 'weak_password';
    const { database, hasher, throttle } = this.#parts;
    const hashed = await throttle.attempt([], () => hasher.hash(password));
    if (typeof hashed !== 'string') return 'busy';
    return database.transaction(async (sql) => {
      if ((await lockOwner(sql, ownerId)) === null) return 'no_such_owner';
      await this.#setPassword(sql, ownerId, hashed, sessionId);
      return 'done';
    });
  }

  /** Begins to turn TOTP on; null when it is on. */
  beginTotp(ownerId: number): Promise<TotpEnrolment | null> {
    return this.#parts.database.transaction((sql) => beginTotp(sql, ownerId));
  }

  /** Turns TOTP on; returns the recovery codes, or null when the code is wrong. */
  enableTotp(ownerId: number, code: string): Promise<readonly string[] | null> {
    return this.#parts.database.transaction((sql) => enableTotp(sql, ownerId, code, this.#parts.clock.now()));
  }

  /** Turns TOTP off. */
  disableTotp(ownerId: number): Promise<void> {
    return this.#parts.database.transaction((sql) => disableTotp(sql, ownerId));
  }

  /** How many recovery codes are left. */
  recoveryCodesLeft(ownerId: number): Promise<number> {
    return recoveryCodesLeft(this.#parts.database, ownerId);
  }

  /** Everything that is stored about an owner, without secrets; null when it is gone. */
  exportData(ownerId: number): Promise<object | null> {
    return exportPersonalData(this.#parts.database, ownerId);
  }

  /**
   * Deletes an owner and everything that belongs to the person; the account, its ledger and its
   * keys stay. False when it is gone.
   */
  deleteData(ownerId: number): Promise<boolean> {
    return this.#parts.database.transaction(async (sql) => {
      const owner = await lockOwner(sql, ownerId);
      if (owner !== null) await deleteOwner(sql, owner);
      return owner !== null;
    });
  }

  /**
   * Signs in the owner that `own` makes, or whose password it sets, with the hash of the stated
   * password. A fault leaves everything as it was.
   */
  async #join(
    purpose: 'invitation' | 'reset',
    accountId: number | null,
    { email, password }: NewOwner,
    client: SignInClient,
    own: (sql: Sql, password: string) => Promise<OwnerCredentials | null>,
  ): Promise<RedeemOutcome> {
    if (!isAcceptablePassword(password)) return refused('weak_password');
    if (purpose === 'invitation' && parseEmail(email ?? '') === null) return refused('invalid_email');
    const { database, hasher } = this.#parts;
    const hashed = await hasher.hash(password);
    try {
      return await database.transaction(async (sql) => {
        const owner = await own(sql, hashed);
        return owner === null ? refused('invalid_link') : this.#signIn.open(sql, owner, 'link', client);
      });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      const owner = accountId === null ? null : await this.ofAccount(accountId);
      return refused(owner === null ? 'email_taken' : 'account_has_owner');
    }
  }

  /** `emailVerified`: the operator stated the address, which confirms it. */
  async #insert(
    sql: Sql,
    accountId: number | null,
    { email: text, name, password }: NewOwner,
    emailVerified: boolean,
  ): Promise<OwnerCredentials | null> {
    const email = parseEmail(text ?? '');
    if (email === null || accountId === null) return null;
    const createdAtMs = this.#parts.clock.now();
    return insertOwner(sql, { accountId, email, emailVerified, name, password, createdAtMs });
  }

  async #reset(sql: Sql, ownerId: number, password: string): Promise<OwnerCredentials | null> {
    const owner = await lockOwner(sql, ownerId);
    if (owner === null) return null;
    await setEmailVerified(sql, ownerId);
    await this.#setPassword(sql, ownerId, password, null);
    return owner;
  }

  /** Ends the sessions of the owner but one, and not those of its account that have no owner. */
  async #setPassword(sql: Sql, ownerId: number, password: string, keptId: string | null): Promise<void> {
    await setPassword(sql, ownerId, password, this.#parts.clock.now());
    await deleteSessions(sql, { kind: 'one-owner', ownerId }, { except: keptId });
  }
}

function refused(why: RedeemFault): { readonly kind: 'refused'; readonly why: RedeemFault } {
  return { kind: 'refused', why };
}
