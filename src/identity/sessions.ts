import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { type Clock, isRecent } from '../time/clock.ts';
import type { OperatorRole } from './audit.ts';
import {
  deleteExpiredSessions,
  deleteSession,
  deleteSessionsExcept,
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

export type { SessionOwner, SessionRow, SessionScope, SignInWay } from './sessions-sql.ts';

const hourMs = 3_600_000;
/** A session that makes no request for so long ends. */
export const sessionIdleMs = 12 * hourMs;
/** A session is written at most this often, however many requests it makes. */
const touchEveryMs = 60_000;

/** How long a session lasts at most. */
const maxAgeMs = { owner: 7 * 24 * hourMs, key: 12 * hourMs, operator: 24 * hourMs } as const;

/** Where a session began, for the list of sessions. */
export interface ClientInfo {
  readonly address: string;
  readonly userAgent: string;
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

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Opens a session in the transaction of its sign-in. Its token is new, whatever the browser sent
   * before, and the session of that earlier token ends.
   */
  async open(
    sql: Sql,
    owner: SessionOwner,
    how: { readonly via: SignInWay; readonly client: ClientInfo; readonly earlierToken: string | null },
  ): Promise<OpenedSession> {
    const nowMs = this.#clock.now();
    const earlier = how.earlierToken === null ? null : hashOfToken(how.earlierToken);
    if (earlier !== null) await deleteSession(sql, { hash: earlier });
    const age =
      owner.kind === 'operator' ? maxAgeMs.operator : how.via === 'key' ? maxAgeMs.key : maxAgeMs.owner;
    const { token, hash } = newToken();
    const sessionId = await insertSession(sql, {
      hash,
      owner,
      via: how.via,
      address: how.client.address.slice(0, 100),
      userAgent: how.client.userAgent.slice(0, 500),
      createdAtMs: nowMs,
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
   */
  revoke(sessionId: string, scope: SessionScope): Promise<boolean> {
    if (!/^\d{1,18}$/.test(sessionId)) return Promise.resolve(false);
    return this.#database.transaction((sql) => deleteSession(sql, { id: sessionId, scope }));
  }

  /** Ends every session of the scope but one; returns how many. */
  revokeOthers(scope: SessionScope, keptId: string | null): Promise<number> {
    return this.#database.transaction((sql) => deleteSessionsExcept(sql, scope, keptId));
  }

  /** Ends the session of a token, if it is one. */
  async signOut(token: string): Promise<void> {
    const hash = hashOfToken(token);
    if (hash !== null) await this.#database.transaction((sql) => deleteSession(sql, { hash }));
  }

  /** Deletes what has expired. */
  prune(sql: Sql): Promise<void> {
    const nowMs = this.#clock.now();
    return deleteExpiredSessions(sql, nowMs, nowMs - sessionIdleMs);
  }
}

function isOpen(row: SessionRow, nowMs: number): boolean {
  const keyExpired = row.keyExpiresAtMs !== null && nowMs >= row.keyExpiresAtMs;
  return (
    row.isValid && !keyExpired && nowMs < row.expiresAtMs && isRecent(row.lastSeenAtMs, nowMs, sessionIdleMs)
  );
}

function sessionOf(row: SessionRow): Session | null {
  const { sessionId, createdAtMs } = row;
  if (row.operator !== null) return { sessionId, createdAtMs, kind: 'operator', ...row.operator };
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
