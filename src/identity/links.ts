import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import type { Actor } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import type { Email } from './email.ts';
import {
  accountExists,
  deleteExpiredLinks,
  findLink,
  insertLink,
  type Link,
  type LinkPurpose,
  type LinkTarget,
  markLinkUsed,
} from './links-sql.ts';
import type { Operator } from './operators-sql.ts';
import { findOwnerByEmail } from './owners-sql.ts';
import { hashOfToken, newToken } from './tokens.ts';

/** How long a link is valid. */
export const linkValidMs = 24 * 3_600_000;

/** A link at the moment of its creation: the only time its token exists here. */
export interface NewLink {
  readonly token: string;
  readonly purpose: LinkPurpose;
  readonly expiresAtMs: number;
}

/** What prevents an invitation. */
export type InviteFault = 'no_such_account' | 'email_of_another_account';

/** Links that sign a person in once. Only their hashes are stored. */
export class OneTimeLinks {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Invites an owner to an account. With the address of an owner that the account has already, the
   * link sets its password again.
   */
  invite(accountId: number, email: Email | null, actor: Actor): Promise<NewLink | InviteFault> {
    return this.#database.transaction(async (sql) => {
      if (!(await accountExists(sql, accountId))) return 'no_such_account';
      const owner = email === null ? null : await findOwnerByEmail(sql, email);
      if (owner !== null && owner.accountId !== accountId) return 'email_of_another_account';
      const ownerId = owner?.ownerId ?? null;
      const purpose = ownerId === null ? 'invitation' : 'reset';
      const act = {
        act: `account.${purpose}`,
        accountId,
        subject: ownerId === null ? 'new owner' : `owner ${ownerId}`,
      };
      await recordAct(sql, actor, act, this.#clock.now());
      return this.#insert(sql, { purpose, accountId, ownerId, email: email?.text ?? null });
    });
  }

  /**
   * A link that opens a session of an account without an owner: for the demo account of the first
   * start.
   */
  openAccount(accountId: number, actor: Actor): Promise<NewLink> {
    return this.#database.transaction(async (sql) => {
      await recordAct(sql, actor, { act: 'account.link', accountId }, this.#clock.now());
      return this.#insert(sql, { purpose: 'account', accountId });
    });
  }

  /** A link that signs an operator in. */
  openConsole(operator: Pick<Operator, 'operatorId' | 'name'>, actor: Actor): Promise<NewLink> {
    const { operatorId, name } = operator;
    return this.#database.transaction(async (sql) => {
      await recordAct(sql, actor, { act: 'operator.link', subject: name }, this.#clock.now());
      return this.#insert(sql, { purpose: 'console', operatorId });
    });
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

  /** Deletes what has expired. */
  async prune(sql: Sql): Promise<void> {
    await deleteExpiredLinks(sql, this.#clock.now());
  }

  async #insert(sql: Sql, link: LinkTarget): Promise<NewLink> {
    const { token, hash } = newToken();
    const nowMs = this.#clock.now();
    const expiresAtMs = nowMs + linkValidMs;
    await insertLink(sql, { ...link, hash, createdAtMs: nowMs, expiresAtMs });
    return { token, purpose: link.purpose, expiresAtMs };
  }
}
