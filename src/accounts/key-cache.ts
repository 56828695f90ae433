import type { Krw } from '../money/krw.ts';
import { ClockCache, type ClockCacheParts } from '../store/clock-cache.ts';
import type { Sql } from '../store/sql.ts';
import { seoulDayAt } from '../time/period.ts';
import type { KeyHash } from './api-key.ts';
import { Key } from './key.ts';
import {
  findKeyAt,
  findKeysAt,
  type KeyPlace,
  type KeyRow,
  placeOfKey,
  placesOfKeys,
  readKeySpend,
  readKeySpends,
} from './keys-sql.ts';
import { noSpend, type Spend } from './spend.ts';

/**
 * How many unknown hashes are cached as unknown, so that a stream of invented keys does not become
 * a stream of queries.
 */
const maxUnknownHashes = 10_000;
/** How soon a stale key is read again, milliseconds. */
const refreshStaleAfterMs = 250;

/**
 * The keys that this process has read and not evicted. Served from memory, kept current by
 * settlements and change events. An evicted key is read again at its next use.
 */
export class KeyCache {
  readonly #parts: ClockCacheParts;
  readonly #byHash = new Map<KeyHash, Key>();
  readonly #byId = new Map<number, Key>();
  readonly #cache: ClockCache<Key>;
  readonly #unknown = new Set<KeyHash>();
  readonly #loading = new Map<KeyHash, Promise<Key | null>>();
  /** Charges that the database has and that the last read of the key may lack, by key. */
  readonly #stale = new Map<number, { readonly day: number; readonly cost: Krw }[]>();

  constructor(parts: ClockCacheParts) {
    this.#parts = parts;
    this.#cache = new ClockCache(parts.capacity, ({ row }) => {
      this.#byHash.delete(row.hash);
      this.#byId.delete(row.id);
      // An uncertain charge would still be counted here, and needs the key.
      this.#stale.delete(row.id);
    });
  }

  /**
   * The key if it is cached, null if it is known not to exist, undefined if the database must be
   * queried.
   */
  getCached(hash: KeyHash): Key | null | undefined {
    const known = this.#byHash.get(hash);
    if (known === undefined) return this.#unknown.has(hash) ? null : undefined;
    known.isUsed = true;
    return known.isCurrentFor(this.#today()) && !known.isDoubtful ? known : undefined;
  }

  /** The key with this hash if it is cached, however old that is. */
  getKnown(hash: KeyHash): Key | undefined {
    return this.#byHash.get(hash);
  }

  /** The key with this id if it is cached. */
  getCachedById(keyId: number): Key | undefined {
    return this.#byId.get(keyId);
  }

  /** Whether memory has everything that was spent with the key, while no other node spends. */
  isKnown(keyId: number): boolean {
    const known = this.#byId.get(keyId);
    return (
      known !== undefined &&
      known.readAtMs >= this.#parts.knownSince() &&
      known.isCurrentFor(this.#today()) &&
      !known.isDoubtful
    );
  }

  /**
   * Reads the spend of keys of one account where memory may lack some; keys that are not cached are
   * left out.
   */
  async catchUp(accountId: number, keyIds: readonly number[]): Promise<void> {
    const { clock, database, isShared } = this.#parts;
    const known = keyIds.filter((id) => this.#byId.has(id));
    const behind = isShared() ? known : known.filter((id) => !this.isKnown(id));
    if (behind.length === 0) return;
    await database.readInOrder(accountId, async (sql) => {
      const day = this.#today();
      const readAtMs = clock.monotonic();
      const keys = behind.map((id) => ({ id, accountId }));
      const spends = await readKeySpends(sql, keys, day);
      for (const id of behind) {
        const key = this.#byId.get(id);
        if (key !== undefined) this.#update(key, key.row, { ...noSpend(day), ...spends.get(id) }, readAtMs);
      }
    });
  }

  /** Every cached key. */
  all(): Iterable<Key> {
    return this.#cache;
  }

  /** How many keys are cached. */
  get size(): number {
    return this.#cache.size;
  }

  /** Evicts some of the keys that were not used lately, when more are cached than the capacity. */
  evictIdle(): void {
    this.#cache.evictIdle();
  }

  /**
   * The key with this hash in any state, read from the database when it is not cached; null when
   * there is none.
   */
  load(hash: KeyHash): Promise<Key | null> {
    const known = this.getCached(hash);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#loading.get(hash);
    if (running !== undefined) return running;
    const loading = this.#read(hash).finally(() => this.#loading.delete(hash));
    this.#loading.set(hash, loading);
    return loading;
  }

  /** Reads a key again, or for the first time, after it was changed or created. */
  async refresh(keyId: number): Promise<void> {
    for (const { done } of await this.#refreshes([keyId])) await done;
  }

  /**
   * The same for many keys, in few queries; those that must not delay others are read again before
   * their next use.
   */
  async refreshAll(keyIds: readonly number[]): Promise<void> {
    if (keyIds.length === 0) return;
    const { placement } = this.#parts.database;
    const reads = await this.#refreshes(keyIds);
    await Promise.all(reads.map(({ done, places }) => placement.inTime(done, () => this.#doubt(places))));
  }

  /** Begins to read keys again, in a turn of the connection of their accounts. */
  async #refreshes(
    keyIds: readonly number[],
  ): Promise<readonly { readonly places: readonly KeyPlace[]; readonly done: Promise<void> }[]> {
    const { placement } = this.#parts.database;
    const places = await this.#placesOf(keyIds);
    const groups = Map.groupBy(places, ({ accountId }) => placement.orderedFor(accountId));
    return [...groups].map(([connection, own]) => ({
      places: own,
      done: connection.run((sql) => this.#refreshAt(sql, own)),
    }));
  }

  /** The places of keys, which do not change; of the others one may be under way to memory. */
  async #placesOf(keyIds: readonly number[]): Promise<readonly KeyPlace[]> {
    const known = keyIds.flatMap((id) => this.#byId.get(id)?.row ?? []);
    const others = keyIds.filter((id) => !this.#byId.has(id));
    if (others.length === 0) return known;
    return [...known, ...(await this.#parts.database.serial.run((sql) => placesOfKeys(sql, others)))];
  }

  /** Reads keys again, in a turn of the connection of their accounts. */
  async #refreshAt(sql: Sql, places: readonly KeyPlace[]): Promise<void> {
    const found = await findKeysAt(sql, places);
    const rows = found.filter(({ id, hash }) => this.#byId.has(id) || this.#unknown.has(hash));
    if (rows.length === 0) return;
    const day = this.#today();
    const readAtMs = this.#parts.clock.monotonic();
    const spends = await readKeySpends(sql, rows, day);
    for (const row of rows) this.#addLoaded(row, { ...noSpend(day), ...spends.get(row.id) }, readAtMs);
  }

  /** Keys that changed and could not be read: memory may have the state of before. */
  #doubt(places: readonly KeyPlace[]): void {
    for (const { id } of places) {
      const key = this.#byId.get(id);
      if (key !== undefined) key.isDoubtful = true;
    }
    this.#unknown.clear();
  }

  /** Reads a key in the caller's turn of the serial connection. Throws when there is none. */
  async readIn(sql: Sql, place: KeyPlace): Promise<Key> {
    const row = await findKeyAt(sql, place);
    if (row === null) throw new Error(`there is no key ${place.id}`);
    return this.#load(sql, row);
  }

  /**
   * Notes that the database has had a charge for a while, so that it is unknown whether the last
   * read of the key contains it. It stays charged here until the key is read again, by
   * `refreshStale`, soon or regularly, or otherwise: better counted twice for a moment than never.
   */
  markStale(keyId: number, day: number, cost: Krw): void {
    if (this.#stale.size === 0)
      this.#parts.clock.after(refreshStaleAfterMs, () => void this.refreshStale().catch(() => {}));
    const charges = this.#stale.get(keyId) ?? [];
    this.#stale.set(keyId, charges);
    charges.push({ day, cost });
  }

  /** Reads every stale key again; one that cannot be read stays stale. */
  async refreshStale(): Promise<void> {
    await this.refreshAll([...this.#stale.keys()]);
  }

  #today(): number {
    return seoulDayAt(this.#parts.clock.now());
  }

  async #read(hash: KeyHash): Promise<Key | null> {
    const { database } = this.#parts;
    const place = await database.readInOrder(null, async (sql) => {
      const found = await placeOfKey(sql, hash);
      if (found === null) this.#noteUnknown(hash);
      return found;
    });
    if (place === null) return null;
    return database.readInOrder(place.accountId, (sql) => this.#readAt(sql, place, hash));
  }

  async #readAt(sql: Sql, place: KeyPlace, hash: KeyHash): Promise<Key | null> {
    const row = await findKeyAt(sql, place);
    // A directory that names another key finds none.
    if (row?.hash === hash) return this.#load(sql, row);
    this.#noteUnknown(hash);
    return null;
  }

  #noteUnknown(hash: KeyHash): void {
    if (this.#unknown.size >= maxUnknownHashes) this.#unknown.clear();
    this.#unknown.add(hash);
  }

  async #load(sql: Sql, row: KeyRow): Promise<Key> {
    const { clock } = this.#parts;
    const day = this.#today();
    const readAtMs = clock.monotonic();
    return this.#addLoaded(row, { day, ...(await readKeySpend(sql, row, day)) }, readAtMs);
  }

  #addLoaded(row: KeyRow, spend: Spend, readAtMs: number): Key {
    this.#unknown.delete(row.hash);
    const known = this.#byId.get(row.id);
    if (known !== undefined) {
      this.#update(known, row, spend, readAtMs);
      return known;
    }
    const key = new Key(row, spend, readAtMs);
    this.#byHash.set(row.hash, key);
    this.#byId.set(row.id, key);
    this.#cache.add(key);
    return key;
  }

  /** Updates a cached key from a read: it contains the uncertain charges. */
  #update(key: Key, row: KeyRow, spend: Spend, readAtMs: number): void {
    key.update(row, spend, readAtMs);
    key.isDoubtful = false;
    for (const { day, cost } of this.#stale.get(row.id) ?? []) key.uncharge(day, cost);
    this.#stale.delete(row.id);
  }
}
