import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { type Actor, recordAct } from './audit.ts';
import type { Email } from './email.ts';
import type { Operator } from './operators.ts';
import { hashOfToken, newToken } from './tokens.ts';

/** How long a link is valid. */
export const linkValidMs = 24 * 3_600_000;

/** What a link does: makes an owner, sets its password again, opens a session of an account, or of an operator. */
export type LinkPurpose = 'invitation' | 'reset' | 'account' | 'console';

/** A valid link. */
export interface Link {
  readonly purpose: LinkPurpose;
  readonly accountId: number | null;
  readonly ownerId: number | null;
  readonly operatorId: number | null;
  /** The address that the operator stated; null: the owner states it. */
  readonly email: string | null;
  readonly expiresAtMs: number;
}

/** A link at the moment of its creation: the only time its token exists here. */
export interface NewLink {
  readonly token: string;
  readonly purpose: LinkPurpose;
  readonly expiresAtMs: number;
}

interface RawLink {
  purpose: LinkPurpose;
  account_id: bigint | null;
  owner_id: bigint | null;
  operator_id: bigint | null;
  email: string | null;
  expires_at: number;
}

const linkColumns = 'purpose, account_id, owner_id, operator_id, email, expires_at';

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
   * Invites an owner to an account. With the address of an owner that the account has already, the link sets
   * its password again.
   */
  invite(accountId: number, email: Email | null, actor: Actor): Promise<NewLink | InviteFault> {
    return this.#database.transaction(async (sql) => {
      const accounts = await sql.query('SELECT FROM account WHERE id = $1', [accountId]);
      if (accounts.length === 0) return 'no_such_account';
      const [owner] =
        email === null
          ? []
          : await sql.query<{ id: bigint; account_id: bigint }>(
              'SELECT id, account_id FROM owner WHERE email_key = $1',
              [email.key],
            );
      if (owner !== undefined && Number(owner.account_id) !== accountId) return 'email_of_another_account';
      const ownerId = owner === undefined ? null : Number(owner.id);
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

  /** A link that opens a session of an account without an owner: for the demo account of the first start. */
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
    if (hash === null) return null;
    const [row] = await this.#database.query<RawLink>(
      `SELECT ${linkColumns} FROM one_time_link WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000)`,
      [hash, this.#clock.now()],
    );
    return row === undefined ? null : linkOf(row);
  }

  /**
   * Uses a link of one of these purposes in the transaction of what it does: of two that use it at once one gets
   * it. Null when it is unknown, used, expired or of another purpose.
   */
  async use(sql: Sql, token: string, ...purposes: readonly LinkPurpose[]): Promise<Link | null> {
    const hash = hashOfToken(token);
    if (hash === null) return null;
    const [row] = await sql.query<RawLink>(
      `UPDATE one_time_link SET used_at = to_timestamp($2::float8 / 1000)
       WHERE token_hash = $1 AND used_at IS NULL AND expires_at > to_timestamp($2::float8 / 1000) AND purpose = ANY ($3)
       RETURNING ${linkColumns}`,
      [hash, this.#clock.now(), purposes],
    );
    return row === undefined ? null : linkOf(row);
  }

  /** Deletes what has expired. */
  async prune(sql: Sql): Promise<void> {
    await sql.query('DELETE FROM one_time_link WHERE expires_at <= to_timestamp($1::float8 / 1000)', [
      this.#clock.now(),
    ]);
  }

  async #insert(
    sql: Sql,
    link: Pick<Link, 'purpose'> & Partial<Pick<Link, 'accountId' | 'ownerId' | 'operatorId' | 'email'>>,
  ): Promise<NewLink> {
    const { token, hash } = newToken();
    const nowMs = this.#clock.now();
    const expiresAtMs = nowMs + linkValidMs;
    await sql.query(
      `INSERT INTO one_time_link (token_hash, purpose, account_id, owner_id, operator_id, email, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000))`,
      [
        hash,
        link.purpose,
        link.accountId ?? null,
        link.ownerId ?? null,
        link.operatorId ?? null,
        link.email ?? null,
        nowMs,
        expiresAtMs,
      ],
    );
    return { token, purpose: link.purpose, expiresAtMs };
  }
}

function linkOf(row: RawLink): Link {
  const id = (value: bigint | null): number | null => (value === null ? null : Number(value));
  return {
    purpose: row.purpose,
    accountId: id(row.account_id),
    ownerId: id(row.owner_id),
    operatorId: id(row.operator_id),
    email: row.email,
    expiresAtMs: row.expires_at,
  };
}
