import { hash, randomBytes } from 'node:crypto';

/** The two kinds of key (spec:api/1.3). */
export type KeyKind = 'inference' | 'management';

declare const brand: unique symbol;
/** 64 lowercase hex digits: sha256 of the plaintext key, the only name a key has (spec:api/2.3). */
export type KeyHash = string & { readonly [brand]: 'key-hash' };

/** A key at the moment of its creation: the only time its plaintext exists. */
export interface NewKey {
  readonly plaintext: string;
  readonly hash: KeyHash;
  /** Masked form for people: prefix, three digits, dots, four digits. Hides 228 of the 256 bits. */
  readonly label: string;
}

/** Makes a key: `<prefix>v1-<64 hex>` for inference, `<prefix>mgmt-v1-<64 hex>` for management. */
export function newKey(kind: KeyKind, prefix: string): NewKey {
  const secret = randomBytes(32).toString('hex');
  const head = kind === 'inference' ? `${prefix}v1-` : `${prefix}mgmt-v1-`;
  const plaintext = `${head}${secret}`;
  return { plaintext, hash: hashKey(plaintext), label: `${head}${secret.slice(0, 3)}...${secret.slice(-4)}` };
}

/** The hash of a plaintext key. */
export function hashKey(plaintext: string): KeyHash {
  return hash('sha256', plaintext, 'hex') as KeyHash;
}

/** The hash in a client's text, when it has the form of one; null otherwise (spec:api/6.2). */
export function parseKeyHash(text: string): KeyHash | null {
  return /^[0-9a-f]{64}$/.test(text) ? (text as KeyHash) : null;
}
