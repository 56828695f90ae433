import { isDuplicate } from '../store/connection.ts';
import type { Sql } from '../store/sql.ts';
import { isRecent } from '../time/clock.ts';
import { parseEmail } from './email.ts';
import {
  findOwner,
  findOwnerOfAccount,
  insertOwner,
  lockOwner,
  type Owner,
  ownerOf,
  type Preferences,
  setEmailVerified,
  setPassword,
  updateProfile,
} from './owners-sql.ts';
import { isAcceptablePassword } from './password-hasher.ts';
import { deletePersonalData, exportPersonalData } from './personal-data.ts';
import type { Session } from './sessions.ts';
import { deleteSessionsExcept } from './sessions-sql.ts';
import {
  addressOf,
  countedAttempt,
  type SignIn,
  type SignInClient,
  type SignInOutcome,
  type SignInParts,
} from './sign-in.ts';
import { beginTotp, disableTotp, enableTotp, type TotpEnrolment } from './totp.ts';
import { recoveryCodesLeft } from './totp-sql.ts';

export type { Owner, Preferences } from './owners-sql.ts';

/** After a sign-in, credentials may be changed for this long without the password. */
const recentMs = 15 * 60_000;

/** What prevents a link from being redeemed. */
export type RedeemFault =
  | 'invalid_link'
  | 'invalid_email'
  | 'email_taken'
  | 'account_has_owner'
  | 'weak_password';

type Counted = Extract<SignInOutcome, { kind: 'throttled' | 'busy' }>;
type OwnerSession = Extract<Session, { kind: 'owner' }>;

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
  async redeem(
    order: {
      readonly token: string;
      readonly password: string;
      readonly email: string | null;
      readonly name: string | null;
    },
    client: SignInClient,
  ): Promise<SignInOutcome | { readonly kind: 'refused'; readonly why: RedeemFault }> {
    const { database, links, hasher } = this.#parts;
    return countedAttempt(this.#parts, [addressOf(client)], async () => {
      const link = await links.read(order.token);
      if (link === null || (link.purpose !== 'invitation' && link.purpose !== 'reset'))
        return refused('invalid_link');
      if (!isAcceptablePassword(order.password)) return refused('weak_password');
      if (link.purpose === 'invitation' && parseEmail(link.email ?? order.email ?? '') === null)
        return refused('invalid_email');
      const password = await hasher.hash(order.password);
      try {
        return await database.transaction(async (sql) => {
          const used = await links.use(sql, order.token, 'invitation', 'reset');
          if (used === null) return refused('invalid_link');
          const ownerId =
            used.ownerId === null
              ? await this.#insert(sql, { ...order, password, accountId: used.accountId, stated: used.email })
              : await this.#reset(sql, used.ownerId, password);
          const owner = ownerId === null ? null : await lockOwner(sql, ownerId);
          return owner === null ? refused('invalid_link') : this.#signIn.openFor(sql, owner, 'link', client);
        });
      } catch (error) {
        if (isDuplicate(error)) return this.#duplicateOf(link.accountId);
        throw error;
      }
    });
  }

  /**
   * Makes the owner of an account whose session came from an account link; signs it in with a new
   * session.
   */
  async claim(
    session: OwnerSession,
    order: { readonly email: string; readonly password: string; readonly name: string | null },
    client: SignInClient,
  ): Promise<SignInOutcome | { readonly kind: 'refused'; readonly why: RedeemFault }> {
    const { accountId } = session;
    return countedAttempt(this.#parts, [addressOf(client)], async () => {
      if (session.via !== 'link' || session.ownerId !== null) return refused('invalid_link');
      if (!isAcceptablePassword(order.password)) return refused('weak_password');
      if (parseEmail(order.email) === null) return refused('invalid_email');
      const password = await this.#parts.hasher.hash(order.password);
      try {
        return await this.#parts.database.transaction(async (sql) => {
          const ownerId = await this.#insert(sql, { ...order, password, accountId, stated: null });
          const owner = ownerId === null ? null : await lockOwner(sql, ownerId);
          return owner === null ? refused('invalid_link') : this.#signIn.openFor(sql, owner, 'link', client);
        });
      } catch (error) {
        if (isDuplicate(error)) return this.#duplicateOf(accountId);
        throw error;
      }
    });
  }

  /** One owner, or null. */
  async read(ownerId: number): Promise<Owner | null> {
    const found = await findOwner(this.#parts.database, ownerId);
    return found === null ? null : ownerOf(found);
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
  ): Promise<'confirmed' | 'confirm' | Counted> {
    const { database, clock, hasher } = this.#parts;
    if (isRecent(session.createdAtMs, clock.now(), recentMs)) return 'confirmed';
    const owner = session.ownerId === null ? null : await findOwner(database, session.ownerId);
    if (owner?.password == null || password === null) return 'confirm';
    const subjects = [
      addressOf(client),
      { kind: 'name', value: parseEmail(owner.email)?.key ?? owner.email } as const,
    ];
    return countedAttempt(this.#parts, subjects, async () => {
      if (!(await hasher.verify(password, owner.password))) return 'confirm';
      await database.transaction((sql) => this.#parts.throttle.succeeded(sql, subjects));
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
    const hashed = await countedAttempt(this.#parts, [], () => this.#parts.hasher.hash(password));
    if (typeof hashed !== 'string') return 'busy';
    return this.#parts.database.transaction(async (sql) => {
      const owner = await lockOwner(sql, ownerId);
      if (owner === null) return 'no_such_owner';
      await setPassword(sql, ownerId, hashed, this.#parts.clock.now());
      await endSessionsOf(sql, ownerId, sessionId);
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
   * keys stay.
   */
  deleteData(ownerId: number): Promise<boolean> {
    return this.#parts.database.transaction((sql) => deletePersonalData(sql, ownerId));
  }

  async #insert(
    sql: Sql,
    order: {
      readonly accountId: number | null;
      readonly password: string;
      readonly email: string | null;
      readonly name: string | null;
      /** The address that the operator stated, which confirms it. */
      readonly stated: string | null;
    },
  ): Promise<number | null> {
    const email = parseEmail(order.stated ?? order.email ?? '');
    if (email === null || order.accountId === null) return null;
    return insertOwner(sql, {
      accountId: order.accountId,
      email,
      emailVerified: order.stated !== null,
      name: order.name,
      password: order.password,
      createdAtMs: this.#parts.clock.now(),
    });
  }

  /** Why an owner could not be stored: the account has one, or its address does. */
  async #duplicateOf(accountId: number | null) {
    const owner = accountId === null ? null : await this.ofAccount(accountId);
    return refused(owner === null ? 'email_taken' : 'account_has_owner');
  }

  async #reset(sql: Sql, ownerId: number, password: string): Promise<number | null> {
    if ((await lockOwner(sql, ownerId)) === null) return null;
    await setPassword(sql, ownerId, password, this.#parts.clock.now());
    await setEmailVerified(sql, ownerId);
    await endSessionsOf(sql, ownerId, null);
    return ownerId;
  }
}

/** Ends the sessions of an owner, but not those of its account that have no owner. */
async function endSessionsOf(sql: Sql, ownerId: number, keptId: string | null): Promise<void> {
  await deleteSessionsExcept(sql, { kind: 'one-owner', ownerId }, keptId);
}

function refused(why: RedeemFault): { readonly kind: 'refused'; readonly why: RedeemFault } {
  return { kind: 'refused', why };
}
