import type { Krw } from '../money/krw.ts';
import { hashKey, type KeyHash, type KeyKind } from './api-key.ts';
import type { Key } from './key.ts';
import { creditRule, invalidKey, ownRules, refuseFirst } from './rules.ts';

const creditRules = [creditRule];

/** The credential that an endpoint requires of its caller (spec:api/1.4). */
export type Credential = 'none' | KeyKind | 'either';

/** An identified caller: its key passed every check of spec:errors/5.2. */
export interface Caller {
  readonly key: Key;
  readonly accountId: number;
}

/** Longer tokens are not keys of this service; they are not even hashed. */
const maxTokenLength = 256;

/**
 * The hashes of the keys in `Authorization` headers. The header that a connection sent last is kept
 * with its hash, as long as the connection: most send the same one again, and a hash costs as much
 * as the parsing of a body. A header is compared only with one that its own connection sent, so the
 * time of the comparison reveals no key of another client. Where a proxy shares connections between
 * clients, that time is some nanoseconds, whatever is compared.
 */
export class BearerHashes {
  readonly #keyPrefix: string;
  readonly #last = new WeakMap<object, { readonly header: string; readonly hash: KeyHash }>();

  constructor(keyPrefix: string) {
    this.#keyPrefix = keyPrefix;
  }

  /**
   * The hash of the key in a header of this connection. Refuses with `401 invalid_api_key` when the
   * header is missing, is no bearer token, or the token does not have the service's key prefix
   * (spec:api/3.2).
   */
  hashOf(connection: object, header: string | undefined): KeyHash {
    const last = this.#last.get(connection);
    if (last !== undefined && last.header === header) return last.hash;
    const token = header === undefined ? null : /^Bearer ([\x21-\x7e]+)$/i.exec(header)?.[1];
    if (header === undefined || token == null || token.length > maxTokenLength) throw invalidKey();
    if (!token.startsWith(this.#keyPrefix)) throw invalidKey();
    const hash = hashKey(token);
    this.#last.set(connection, { header, hash });
    return hash;
  }
}

/**
 * Refuses a key that may not use the endpoint, in the order of spec:errors/5.2: unknown, revoked,
 * off or of the wrong kind; expired; suspended by the administrator; without credit. `balance` is
 * the balance of the key's account.
 */
export function assertMayCall(
  key: Key | null,
  needs: Exclude<Credential, 'none'>,
  nowMs: number,
  balance: (accountId: number) => Krw,
): asserts key is Key {
  if (key === null) throw invalidKey();
  assertValid(key, needs, nowMs);
  refuseFirst(creditRules, { balance: balance(key.row.accountId) });
}

/**
 * Refuses a known key for its own state. Called again after a body was read: that may take minutes.
 */
export function assertValid({ row }: Key, needs: Exclude<Credential, 'none'>, nowMs: number): void {
  if (needs !== 'either' && row.kind !== needs) throw invalidKey();
  refuseFirst(ownRules, { row, nowMs });
}
