import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { type Clock, isRecent } from '../time/clock.ts';
import type { Actor, OperatorRole } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import {
  deleteSessionByHash,
  deleteSessions,
  findSessionByHash,
  insertSession,
  listSessions,
  type SessionOwner,
  type SessionRow,
  type SessionScope,
  type SignInWay,
  touchSession,
} from './sessions-sql.ts';
import { hashOfToken, newToken } from './tokens.ts';

/** After a sign-in, credentials may be changed for this long without another proof. */
export const recentSignInMs = 15 * 60_000;
const hourMs = 3_600_000;
/** A session is written at most this often, however many requests it makes. */
const touchEveryMs = 60_000;

/** How long a session lasts at most. */
const maxAgeMs = { owner: 7 * 24 * hourMs, key: 12 * hourMs } as const;
const idleMs = 12 * hourMs;

/** How long the sessions of operators last, at most and without a request. */
export interface OperatorSessionHours {
  readonly sessionHours: number;
  readonly sessionIdleHours: number;
}

/** The browser that signs in. */
export interface SignInClient {
  /** For the list of sessions, as the user agent. */
  readonly address: string;
  readonly userAgent: string;
  /** The session token that it has now. */
  readonly earlierToken: string | null;
  /** What the limit of attempts counts: the address, or the network of an IPv6 address. */
  readonly limitedAs: string;
}

/** A valid session. */
export type Session =
  | {
      readonly sessionId: string;
      readonly kind: 'owner';
      readonly accountId: number;
      /** Null: signed in with a management key or an account link, so for the account itself. */
      readonly ownerId: number | null;
      readonly via: SignInWay;
      readonly createdAtMs: number;
    }
  | {
      readonly sessionId: string;
      readonly kind: 'operator';
      /** Whether this is a machine that sends its token, not a person who signed in. */
      readonly isToken: boolean;
      readonly operatorId: number;
      readonly name: string;
      readonly role: OperatorRole;
      readonly createdAtMs: number;
    };

/** A session at the moment of its creation: the only time its token exists here. */
export interface OpenedSession {
  readonly token: string;
  readonly sessionId: string;
}

/** The signed-in browsers. */
export class Sessions {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #hours: OperatorSessionHours;

  constructor(database: Database, clock: Clock, hours: OperatorSessionHours) {
    this.#database = database;
    this.#clock = clock;
    this.#hours = hours;
  }

  /**
   * Opens a session in the transaction of its sign-in. Its token is new, whatever the browser sent
   * before, and the session of that earlier token ends.
   */
  async open(
    sql: Sql,
    owner: SessionOwner,
    via: SignInWay,
    { address, userAgent, earlierToken }: SignInClient,
  ): Promise<OpenedSession> {
    const nowMs = this.#clock.now();
    const earlier = earlierToken === null ? null : hashOfToken(earlierToken);
    if (earlier !== null) await deleteSessionByHash(sql, earlier);
    const ofOperator = 'operatorId' in owner ? this.#hours : null;
    const ofOwner = via === 'key' ? maxAgeMs.key : maxAgeMs.owner;
    const age = ofOperator === null ? ofOwner : ofOperator.sessionHours * hourMs;
    const { token, hash } = newToken();
    const sessionId = await insertSession(sql, {
      hash,
      owner,
      via,
      address: address.slice(0, 100),
      userAgent: userAgent.slice(0, 500),
      createdAtMs: nowMs,
      idleMs: ofOperator === null ? idleMs : ofOperator.sessionIdleHours * hourMs,
      expiresAtMs: nowMs + age,
    });
    return { token, sessionId };
  }

  /**
   * The session of a token, read from the database: a session that was revoked on any node is null
   * at once. Null also when it is idle or too old, or its owner, operator or key is gone.
   */
  async find(token: string): Promise<Session | null> {
    const hash = hashOfToken(token);
    if (hash === null) return null;
    const row = await findSessionByHash(this.#database, hash);
    const nowMs = this.#clock.now();
    if (row === null || !isOpen(row, nowMs)) return null;
    if (nowMs - row.lastSeenAtMs >= touchEveryMs)
      await this.#database.transaction((sql) =>
        touchSession(sql, row.sessionId, nowMs, nowMs - touchEveryMs),
      );
    return sessionOf(row);
  }

  /** The open sessions of a scope, the latest first. */
  async list(scope: SessionScope): Promise<readonly SessionRow[]> {
    const nowMs = this.#clock.now();
    return (await listSessions(this.#database, scope)).filter((row) => isOpen(row, nowMs));
  }

  /**
   * Ends a session of the scope; false when there is none with this id, or it belongs to others.
   * That an operator ended one of others is in the audit log.
   */
  async revoke(sessionId: string, scope: SessionScope, operator: Actor | null = null): Promise<boolean> {
    if (!/^\d{1,18}$/.test(sessionId)) return false;
    return (await this.#end(scope, { only: sessionId }, `session ${sessionId}`, operator)) > 0;
  }

  /** Ends every session of the scope but one; returns how many. The audit log as in `revoke`. */
  revokeOthers(scope: SessionScope, keptId: string | null, operator: Actor | null = null): Promise<number> {
    return this.#end(scope, { except: keptId }, `sessions of ${scope.kind}`, operator);
  }

  #end(
    scope: SessionScope,
    which: Parameters<typeof deleteSessions>[2],
    subject: string,
    operator: Actor | null,
  ): Promise<number> {
    return this.#database.transaction(async (sql) => {
      const ended = await deleteSessions(sql, scope, which);
      const account = scope.kind === 'account' ? { accountId: scope.accountId } : {};
      const act = { act: 'session.revoke', subject, after: { ended }, ...account };
      if (ended > 0 && operator !== null) await recordAct(sql, operator, act, this.#clock.now());
      return ended;
    });
  }

  /** Ends the session of a token, if it is one. */
  async signOut(token: string): Promise<void> {
    const hash = hashOfToken(token);
    if (hash !== null) await this.#database.transaction((sql) => deleteSessionByHash(sql, hash));
  }
}

function isOpen(row: SessionRow, nowMs: number): boolean {
  const keyExpired = row.keyExpiresAtMs !== null && nowMs >= row.keyExpiresAtMs;
  return (
    row.isValid && !keyExpired && nowMs < row.expiresAtMs && isRecent(row.lastSeenAtMs, nowMs, row.idleMs)
  );
}

function sessionOf(row: SessionRow): Session | null {
  const { sessionId, createdAtMs } = row;
  if (row.operator !== null)
    return { sessionId, createdAtMs, kind: 'operator', isToken: false, ...row.operator };
  if (row.accountId === null) return null;
  return {
    sessionId,
    createdAtMs,
    kind: 'owner',
    accountId: row.accountId,
    ownerId: row.ownerId,
    via: row.via,
  };
}
