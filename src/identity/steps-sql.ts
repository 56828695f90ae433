import type { Sql } from '../store/sql.ts';
import { hashOfToken, newToken } from './tokens.ts';

/** How long a person has for the next step of a sign-in. */
const stepValidMs = 10 * 60_000;
/** How many codes may be tried in one step. */
const maxAttempts = 5;
const isOpen = 'token_hash = $1 AND kind = $2 AND expires_at > to_timestamp($3::float8 / 1000)';

/** What the next step of a sign-in is. */
export type StepKind = 'totp' | 'passkey' | 'passkey-registration' | 'oidc';

/** A step that was begun. */
interface Step<Data> {
  readonly ownerId: number | null;
  readonly data: Data;
}

/** Stores what the next step needs; returns the token that continues it. */
export async function beginStep(
  sql: Sql,
  step: { readonly kind: StepKind; readonly ownerId: number | null; readonly data: object },
  nowMs: number,
): Promise<string> {
  const { token, hash } = newToken();
  await sql.query(
    `INSERT INTO sign_in_step (token_hash, kind, owner_id, data, expires_at) VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000))`,
    [hash, step.kind, step.ownerId, JSON.stringify(step.data), nowMs + stepValidMs],
  );
  return token;
}

/** Ends a step and returns it: a challenge is accepted once. Null when it is unknown or expired. */
export function endStep<Data>(
  sql: Sql,
  kind: StepKind,
  token: string,
  nowMs: number,
): Promise<Step<Data> | null> {
  return change(sql, `DELETE FROM sign_in_step WHERE ${isOpen}`, kind, token, nowMs);
}

/**
 * Counts an attempt at a step and returns it; null when it is unknown or expired, or was tried too
 * often.
 */
export function tryStep<Data>(
  sql: Sql,
  kind: StepKind,
  token: string,
  nowMs: number,
): Promise<Step<Data> | null> {
  const text = `UPDATE sign_in_step SET attempts = attempts + 1 WHERE ${isOpen} AND attempts < ${maxAttempts}`;
  return change(sql, text, kind, token, nowMs);
}

async function change<Data>(
  sql: Sql,
  text: string,
  kind: StepKind,
  token: string,
  nowMs: number,
): Promise<Step<Data> | null> {
  const hash = hashOfToken(token);
  if (hash === null) return null;
  const [row] = await sql.query<{ owner_id: bigint | null; data: Data }>(`${text} RETURNING owner_id, data`, [
    hash,
    kind,
    nowMs,
  ]);
  return row === undefined
    ? null
    : { ownerId: row.owner_id === null ? null : Number(row.owner_id), data: row.data };
}
