import type { ClientView } from './client-view.ts';
import type { Journey } from './journey.ts';
import type { Tables } from './model/tables.ts';
import type { Store, Transaction } from './model/transactions.ts';

const usageKind = 3;
const expiryKind = 4;
const refundKind = 5;
const picoPerMicro = 1_000_000n;
/** A request that is sent this long after a publication is billed by it. */
const noticedWithinMs = 1_000;

/**
 * Checks every row about money: its owner, its value, and whether the tables agree with each other.
 */
export class Audit {
  readonly #store: Store;
  readonly #journey: Journey;
  readonly #views: ReadonlyMap<string, ClientView>;
  /** The price versions of each edition, and when the next one replaced it, in virtual time. */
  readonly #editions: { readonly versions: ReadonlySet<number>; endedMs: number }[] = [];
  readonly #check: (holds: boolean, message: () => string) => void;
  readonly #byRequest = new Map<string, readonly Tables['generation'][]>();
  readonly #refunded = new Map<string, bigint>();

  constructor(parts: {
    readonly store: Store;
    readonly journey: Journey;
    readonly views: ReadonlyMap<string, ClientView>;
    readonly check: (holds: boolean, message: () => string) => void;
  }) {
    this.#store = parts.store;
    this.#journey = parts.journey;
    this.#views = parts.views;
    this.#check = parts.check;
  }

  /** The records of a request. */
  recordsOf(requestId: string): readonly Tables['generation'][] {
    return this.#byRequest.get(requestId) ?? [];
  }

  /** An edition that was published now. */
  onPublished(tx: Transaction, nowMs: number): void {
    for (const row of (tx.written.get('catalogue_edition')?.values() ?? []) as Iterable<
      Tables['catalogue_edition']
    >) {
      const offers = JSON.parse(row.offers) as readonly { readonly priceVersion: number }[];
      const last = this.#editions.at(-1);
      if (last !== undefined) {
        last.endedMs = nowMs;
        if ([...this.#views.values()].some(({ end }) => end === 'running'))
          this.#journey.met('a price changed while a request was in flight');
      }
      const versions = new Set(offers.map(({ priceVersion }) => priceVersion));
      this.#editions.push({ versions, endedMs: Number.POSITIVE_INFINITY });
    }
  }

  /** New generations, and their entries. */
  onSettled(fresh: readonly Tables['generation'][], entries: readonly Tables['ledger'][]): void {
    for (const row of fresh) {
      const id = (JSON.parse(row.detail) as { readonly request_id: string }).request_id;
      this.#byRequest.set(id, [...this.recordsOf(id), row]);
      this.#settled(row, this.#views.get(id), entries);
    }
    const usage = entries.filter((entry) => entry.generation_id !== null).length;
    this.#check(
      usage === fresh.filter((row) => row.cost > 0n).length,
      () => 'an entry without its generation',
    );
  }

  /** Credit that was added, refunded or expired. */
  onCredit(tx: Transaction, entries: readonly Tables['ledger'][]): void {
    const { tables } = this.#store;
    for (const entry of entries) {
      const balance = tables.account_balance.get(String(entry.account_id));
      if (entry.kind === expiryKind && entry.amount > 0n) {
        const lot = tables.credit_lot.get(String(entry.lot_id));
        this.#check(
          lot?.account_id === entry.account_id &&
            lot.granted_at <= entry.created_at &&
            entry.created_at < (lot.expires_at ?? Number.NaN),
          () => `entry ${entry.id} reverses the expiry of a lot that was not valid then`,
        );
      } else if (entry.kind === expiryKind) {
        this.#journey.met('credit expired');
        const lot = tables.credit_lot.get(String(entry.lot_id));
        this.#check(
          lot?.account_id === entry.account_id &&
            lot.remaining === 0n &&
            (lot.expires_at ?? Number.NaN) <= entry.created_at,
          () => `entry ${entry.id} expires a lot that is not due`,
        );
        // What was spent before is not there to expire.
        this.#check(
          balance !== undefined && balance.credits >= balance.usage,
          () => `an expiry makes the balance of account ${entry.account_id} negative`,
        );
      }
      if (entry.kind === refundKind) this.#refund(entry);
    }
    if (tx.written.get('credit_lot') === undefined) return;
    const open = new Map<number, bigint>();
    for (const lot of tables.credit_lot.values())
      open.set(lot.account_id, (open.get(lot.account_id) ?? 0n) + lot.remaining);
    for (const [account, remaining] of open) {
      const balance = tables.account_balance.get(String(account));
      this.#check(
        balance !== undefined && balance.credits - balance.lot_applied === remaining,
        () =>
          `the lots of account ${account} have ${remaining} left, which differs from the amounts minus the charges`,
      );
    }
  }

  /** The usage of keys by day agrees with the ledger and the records. */
  atEnd(): void {
    const { tables } = this.#store;
    const spent = sumBy(
      [...tables.ledger.values()].filter(({ kind }) => kind === usageKind),
      (entry) => `${entry.account_id}/${entry.key_id}`,
      (entry) => -entry.amount,
    );
    const byKey = sumBy(
      tables.key_usage_day.values(),
      (row) => `${row.account_id}/${row.key_id}`,
      (row) => row.cost,
    );
    for (const key of new Set([...spent.keys(), ...byKey.keys()]))
      this.#check(
        (spent.get(key) ?? 0n) === (byKey.get(key) ?? 0n),
        () => `key ${key} spent ${spent.get(key)}, and its days sum to ${byKey.get(key)}`,
      );
    // A refund that names a key is given back to its limit.
    const refunded = sumBy(
      [...tables.ledger.values()].filter(({ kind, key_id }) => kind === refundKind && key_id !== null),
      (entry) => `${entry.account_id}/${entry.key_id}`,
      (entry) => entry.amount,
    );
    const returned = sumBy(
      tables.key_usage_day.values(),
      (row) => `${row.account_id}/${row.key_id}`,
      (row) => row.returned,
    );
    for (const key of byKey.keys())
      this.#check(
        (refunded.get(key) ?? 0n) === returned.get(key),
        () =>
          `key ${key} was refunded ${refunded.get(key)}, and ${returned.get(key)} was given back to its limit`,
      );
    const counted = sumBy(
      tables.key_usage_day.values(),
      (row) => `${row.account_id}/${row.key_id}`,
      (row) => row.requests,
    );
    const records = sumBy(
      tables.generation.values(),
      (row) => `${row.account_id}/${row.key_id}`,
      () => 1n,
    );
    for (const [key, requests] of records)
      this.#check(
        counted.get(key) === requests,
        () => `key ${key} has ${requests} records, ${counted.get(key)} counted`,
      );
  }

  #settled(
    row: Tables['generation'],
    view: ClientView | undefined,
    entries: readonly Tables['ledger'][],
  ): void {
    const own = entries.filter((entry) => entry.generation_id === row.id);
    this.#check(
      own.length === (row.cost > 0n ? 1 : 0),
      () => `a generation of ${row.cost} has ${own.length} entries`,
    );
    const key = this.#store.tables.api_key.get(String(row.key_id));
    this.#check(key?.account_id === row.account_id, () => `a generation of the key of another account`);
    this.#check(
      view !== undefined && view.accountId === row.account_id && view.keyId === row.key_id,
      () => 'a generation without an owner',
    );
    for (const entry of own)
      this.#check(
        entry.account_id === row.account_id && entry.key_id === row.key_id && entry.amount === -row.cost,
        () => `the entry of ${view?.id} is ${entry.amount} of key ${entry.key_id}`,
      );
    if (row.cost === 0n) return;
    const version = row.price_version ?? 0;
    const price = this.#store.tables.price_version.get(String(version));
    const cost =
      price === undefined
        ? null
        : (price.prompt * BigInt(row.prompt_tokens) + price.completion * BigInt(row.completion_tokens)) /
          picoPerMicro;
    this.#check(cost === row.cost, () => `${view?.id} cost ${row.cost} instead of ${cost}`);
    const sentMs = view?.sentMs ?? 0;
    this.#check(
      this.#editions.some(
        ({ versions, endedMs }) => versions.has(version) && sentMs <= endedMs + noticedWithinMs,
      ),
      () => `${view?.id} was billed by version ${version}, which was not published any more when it was sent`,
    );
  }

  #refund(entry: Tables['ledger']): void {
    const key = `${entry.account_id}/${entry.refund_of}`;
    const refunded = (this.#refunded.get(key) ?? 0n) + entry.amount;
    this.#refunded.set(key, refunded);
    const cost = this.#store.tables.generation.get(key)?.cost ?? 0n;
    this.#check(refunded <= cost, () => `a generation of ${cost} was refunded with ${refunded}`);
    const isOwn = entry.key_id === null || entry.key_id === this.#store.tables.generation.get(key)?.key_id;
    this.#check(isOwn, () => `a refund was given back to key ${entry.key_id}, which did not spend it`);
  }
}

function sumBy<T>(
  rows: Iterable<T>,
  keyOf: (row: T) => string,
  amountOf: (row: T) => bigint,
): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0n) + amountOf(row));
  return sums;
}
