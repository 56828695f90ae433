import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import type { Actor } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import {
  findTokenByHash,
  insertToken,
  listTokens,
  lockToken,
  markOperatorRemoved,
  type OperatorToken,
} from './operators-sql.ts';
import type { Session } from './sessions.ts';
import { hashOfToken, newToken } from './tokens.ts';

/** What an operator's token begins with, so that people and scanners of secrets recognise it. */
const prefix = 'naru_op_';
const maxAgeMs = 366 * 86_400_000;

/** A token at the moment of its creation: the only time its plaintext exists here. */
export interface NewOperatorToken extends OperatorToken {
  readonly plaintext: string;
}

/** What prevents the creation of a token: the name is taken, or the expiry is past or too far away. */
export type TokenFault = 'name_taken' | 'invalid_expiry';

/**
 * Tokens of machines, such as a company's billing system. Each is an operator with a name and a
 * role, so that the log of acts, limits and idempotency keys know it as they know a person
 * (spec:operator/1.19).
 */
export class OperatorTokens {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async create(
    { name, role, expiresAtMs }: Pick<OperatorToken, 'name' | 'role' | 'expiresAtMs'>,
    actor: Actor,
  ): Promise<NewOperatorToken | TokenFault> {
    const nowMs = this.#clock.now();
    if (expiresAtMs <= nowMs || expiresAtMs > nowMs + maxAgeMs) return 'invalid_expiry';
    const { token, hash } = newToken();
    const after = { role, expires_at: isoOf(expiresAtMs) };
    const act = { act: 'operator.token.create', subject: name, after };
    try {
      return await this.#database.transaction(async (sql) => {
        const stored = await insertToken(sql, { name, role, createdAtMs: nowMs, expiresAtMs }, hash);
        await recordAct(sql, actor, act, nowMs);
        return { ...stored, plaintext: prefix + token };
      });
    } catch (error) {
      if (isDuplicate(error)) return 'name_taken';
      throw error;
    }
  }

  /** Every token that was not revoked, oldest first, expired ones included. */
  list(): Promise<readonly OperatorToken[]> {
    return listTokens(this.#database);
  }

  /** Revokes a token, effective on its next request at every node; null when there is none. */
  revoke(name: string, reason: string | null, actor: Actor): Promise<OperatorToken | null> {
    return this.#database.transaction(async (sql) => {
      const token = await lockToken(sql, name);
      if (token === null) return null;
      const nowMs = this.#clock.now();
      await markOperatorRemoved(sql, token.operatorId, nowMs);
      const act = { act: 'operator.token.revoke', subject: token.name, reason, before: { role: token.role } };
      await recordAct(sql, actor, act, nowMs);
      return token;
    });
  }

  /** Who sends a token, read from the database; null when it is unknown, revoked or expired. */
  async find(plaintext: string): Promise<Session | null> {
    const hash = plaintext.startsWith(prefix) ? hashOfToken(plaintext.slice(prefix.length)) : null;
    const token = hash === null ? null : await findTokenByHash(this.#database, hash);
    if (token === null || this.#clock.now() >= token.expiresAtMs) return null;
    const { operatorId, name, role, createdAtMs } = token;
    return {
      sessionId: `token ${operatorId}`,
      kind: 'operator',
      isToken: true,
      operatorId,
      name,
      role,
      createdAtMs,
    };
  }
}
