import { hashKey, type KeyHash } from './api-key.ts';
import type { Key } from './key.ts';
import { invalidKey } from './rules.ts';

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
