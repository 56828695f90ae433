import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import type { Act, Actor } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import type { Email } from './email.ts';
import {
  accountFault,
  deleteLinksOfAccount,
  findLink,
  insertLink,
  type Link,
  type LinkPurpose,
  markLinkUsed,
  type NewLink,
} from './links-sql.ts';
import type { Operator } from './operators-sql.ts';
import { deleteOwner, findOwnerByEmail, findOwnerOfAccount, insertOwner, lockOwner } from './owners-sql.ts';
import { deleteSessions } from './sessions-sql.ts';
import { hashOfToken } from './tokens.ts';

/** What prevents an invitation. */
export type InviteFault = 'no_such_account' | 'account_closed' | 'email_taken' | 'account_has_owner';

/** What prevents the replacement of an owner. */
export type ReplaceFault = 'no_such_account' | 'account_closed' | 'no_owner' | 'same_owner' | 'email_taken';

/** Links that sign a person in once. Only their hashes are stored. */
export class OneTimeLinks {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Invites the owner of an account. With the address of the owner that the account has already, the
   * link sets its password again; an account has one owner, so nobody else can be invited then.
   */
  invite(accountId: number, email: Email | null, actor: Actor): Promise<NewLink | InviteFault> {
    return this.#database.transaction((sql) => this.inviteWithin(sql, accountId, email, actor));
  }

  /** The same in the transaction of the caller. */
  async inviteWithin(
    sql: Sql,
    accountId: number,
    email: Email | null,
    actor: Actor,
  ): Promise<NewLink | InviteFault> {
    const fault = await accountFault(sql, accountId);
    if (fault !== null) return fault;
    const owner = email === null ? null : await findOwnerByEmail(sql, email);
    if (owner !== null && owner.accountId !== accountId) return 'email_taken';
    const current = await findOwnerOfAccount(sql, accountId);
    const ownerId = owner?.ownerId ?? null;
    if (current !== null && current.ownerId !== ownerId) return 'account_has_owner';
    const purpose = ownerId === null ? 'invitation' : 'reset';
    const subject = ownerId === null ? 'new owner' : `owner ${ownerId}`;
    const act = { act: `account.${purpose}`, accountId, subject };
    return this.#insert(sql, actor, act, { purpose, accountId, ownerId, email: email?.text ?? null });
  }

  /**
   * Gives an account to another person: the owner and everything that the person signs in with ends,
   * and so do all sessions and open links of the account. The link lets the new owner set a password.
   * Keys stay: they are the account's.
   */
  async replaceOwner(
    accountId: number,
    email: Email,
    reason: string,
    actor: Actor,
  ): Promise<NewLink | ReplaceFault> {
    try {
      return await this.#database.transaction(async (sql) => {
        const fault = await accountFault(sql, accountId);
        if (fault !== null) return fault;
        const current = await findOwnerOfAccount(sql, accountId);
        if (current === null) return 'no_owner';
        if ((await findOwnerByEmail(sql, email))?.ownerId === current.ownerId) return 'same_owner';
        // Links before owners, as where one is redeemed: no two then wait for each other.
        await deleteLinksOfAccount(sql, accountId);
        const before = await lockOwner(sql, current.ownerId);
        if (before === null) return 'no_owner';
        await deleteOwner(sql, before);
        const sessions = { kind: 'owner', accountId, ownerId: before.ownerId } as const;
        await deleteSessions(sql, sessions, { except: null });
        const { ownerId } = await insertOwner(sql, {
          accountId,
          email,
          emailVerified: true,
          name: null,
          password: null,
          createdAtMs: this.#clock.now(),
        });
        const act = {
          act: 'account.replace_owner',
          accountId,
          subject: `owner ${before.ownerId}`,
          reason,
          before: { owner: before.ownerId },
          after: { owner: ownerId },
        };
        return this.#insert(sql, actor, act, { purpose: 'reset', accountId, ownerId, email: email.text });
      });
    } catch (error) {
      if (isDuplicate(error)) return 'email_taken';
      throw error;
    }
  }

  /**
   * A link that opens a session of an account without an owner: for the demo account of the first
   * start.
   */
  openAccount(accountId: number, actor: Actor): Promise<NewLink> {
    const act = { act: 'account.link', accountId };
    return this.#database.transaction((sql) =>
      this.#insert(sql, actor, act, { purpose: 'account', accountId }),
    );
  }

  /** A link that signs an operator in. */
  openConsole({ operatorId, name }: Pick<Operator, 'operatorId' | 'name'>, actor: Actor): Promise<NewLink> {
    const act = { act: 'operator.link', subject: name };
    return this.#database.transaction((sql) =>
      this.#insert(sql, actor, act, { purpose: 'console', operatorId }),
    );
  }

  /** What a link would do, without using it; null when it is unknown, used or expired. */
  async read(token: string): Promise<Link | null> {
    const hash = hashOfToken(token);
    return hash === null ? null : findLink(this.#database, hash, this.#clock.now());
  }

  /**
   * Uses a link of one of these purposes in the transaction of what it does: of two that use it at
   * once one gets it. Null when it is unknown, used, expired or of another purpose.
   */
  async use(sql: Sql, token: string, ...purposes: readonly LinkPurpose[]): Promise<Link | null> {
    const hash = hashOfToken(token);
    return hash === null ? null : markLinkUsed(sql, hash, purposes, this.#clock.now());
  }

  async #insert(sql: Sql, actor: Actor, act: Act, link: Parameters<typeof insertLink>[1]): Promise<NewLink> {
    const nowMs = this.#clock.now();
    await recordAct(sql, actor, act, nowMs);
    return insertLink(sql, link, nowMs);
  }
}
