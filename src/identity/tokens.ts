import { hash, randomBytes } from 'node:crypto';

/** A token of 256 random bits as 43 characters; only its hash is stored. */
export interface NewToken {
  readonly token: string;
  readonly hash: Buffer;
}

/** Makes a token for a session, a link or a step of a sign-in. */
export function newToken(): NewToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** The stored form of a token. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/**
 * The hash of a text that has the form of a token; null for any other text, which needs no look-up.
 */
export function hashOfToken(text: string): Buffer | null {
  return /^[A-Za-z0-9_-]{43}$/.test(text) ? hashToken(text) : null;
}
