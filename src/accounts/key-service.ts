import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { KeyHash, KeyKind } from './api-key.ts';
import type { KeyCache } from './key-cache.ts';
import {
  changeOwnKey,
  createKey,
  type KeyChange,
  type KeyRow,
  type NewKey,
  readKeyPage,
  readOwnKey,
  readSpend,
  readSpends,
  revokeKey,
  rotateKey,
} from './keys.ts';
import type { KeysPlace } from './keys-sql.ts';
import type { Spend } from './spend.ts';

/** A key with what it has spent, this process's latest charges included. */
export interface KeyWithSpend {
  readonly row: KeyRow;
  readonly spend: Spend;
}

/**
 * The keys of one account as its management keys manage them. Every change is applied to this
 * process's memory before the response; other processes follow within a second.
 */
export class KeyService {
  readonly #database: Database;
  readonly #cache: KeyCache;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #maxPerAccount: number;

  constructor(parts: {
    readonly database: Database;
    readonly cache: KeyCache;
    readonly clock: Clock;
    readonly keyPrefix: string;
    readonly maxPerAccount: number;
  }) {
    this.#database = parts.database;
    this.#cache = parts.cache;
    this.#clock = parts.clock;
    this.#prefix = parts.keyPrefix;
    this.#maxPerAccount = parts.maxPerAccount;
  }

  /** Creates a key; this is the only place that returns the plaintext. */
  async create(options: NewKey): Promise<KeyWithSpend & { readonly plaintext: string }> {
    const { hash, plaintext } = await createKey(this.#database, options, {
      prefix: this.#prefix,
      nowMs: this.#clock.now(),
      maxPerAccount: this.#maxPerAccount,
    });
    const row = await readOwnKey(this.#database, options.accountId, hash);
    if (row === null) throw new Error('a key that was just created is there');
    return { ...(await this.#withSpend(row)), plaintext };
  }

  async read(accountId: number, hash: KeyHash): Promise<KeyWithSpend | null> {
    const row = await readOwnKey(this.#database, accountId, hash);
    return row === null ? null : this.#withSpend(row);
  }

  async page(
    accountId: number,
    place: KeysPlace,
    includeDisabled: boolean,
    kind?: KeyKind,
  ): Promise<readonly KeyWithSpend[]> {
    const rows = await readKeyPage(this.#database, {
      accountId,
      place,
      includeDisabled,
      ...(kind === undefined ? {} : { kind }),
    });
    await this.#cache.catchUp(
      accountId,
      rows.map(({ id }) => id),
    );
    const nowMs = this.#clock.now();
    const known = rows.map(({ id }) => this.#cache.getCachedById(id));
    const unknown = rows.filter((_, at) => known[at] === undefined).map(({ id }) => id);
    const spendOf = await readSpends(this.#database, accountId, unknown, nowMs);
    return rows.map((row, at) => {
      // A cached key may have been evicted meanwhile, and then nothing was spent with it.
      const key = this.#cache.getCachedById(row.id) ?? known[at];
      return { row, spend: key?.spendOn(nowMs) ?? spendOf(row.id) };
    });
  }

  async change(accountId: number, hash: KeyHash, change: KeyChange): Promise<KeyWithSpend | null> {
    const row = await changeOwnKey(this.#database, accountId, hash, change, this.#clock.now());
    if (row === null) return null;
    await this.#cache.refresh(row.id);
    return this.#withSpend(row);
  }

  /** See `rotateKey`; this and `create` are the only places that return a plaintext. */
  async rotate(
    accountId: number,
    hash: KeyHash,
    endsAtMs: number,
  ): Promise<(KeyWithSpend & { readonly plaintext: string }) | null> {
    const nowMs = this.#clock.now();
    const rotated = await rotateKey(
      this.#database,
      { accountId, hash, endsAtMs },
      { prefix: this.#prefix, nowMs, maxPerAccount: this.#maxPerAccount },
    );
    if (rotated === null) return null;
    await this.#cache.refresh(rotated.oldId);
    const row = await readOwnKey(this.#database, accountId, rotated.hash);
    if (row === null) throw new Error('a key that was just created is there');
    return { ...(await this.#withSpend(row)), plaintext: rotated.plaintext };
  }

  /**
   * Revokes a key permanently; true also when it was revoked before, false when the account has no
   * such key. `endsCalls`: its calls in flight end too, on every node.
   */
  async revoke(accountId: number, hash: KeyHash, endsCalls = false): Promise<boolean> {
    const row = await readOwnKey(this.#database, accountId, hash);
    if (row === null) return false;
    if (row.revokedAtMs === null || endsCalls)
      await revokeKey(this.#database, hash, this.#clock.now(), endsCalls);
    await this.#cache.refresh(row.id);
    return true;
  }

  async #withSpend(row: KeyRow): Promise<KeyWithSpend> {
    await this.#cache.catchUp(row.accountId, [row.id]);
    const known = this.#cache.getCachedById(row.id);
    const nowMs = this.#clock.now();
    return {
      row,
      spend: known === undefined ? await readSpend(this.#database, row, nowMs) : known.spendOn(nowMs),
    };
  }
}
