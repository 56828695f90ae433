import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { type ChainedEntry, chained, entryText, linkOf, microsecondsSql } from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';

/** A disagreement in the ledger. */
export interface Difference {
  readonly check: string;
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** The state of an account's chain when a backup was made. */
export interface Anchor {
  readonly entries: bigint;
  readonly chain: Buffer;
}

/** What a walk over the ledger checks. */
export const walkChecks = {
  chain: 'the chain of the account = the hashes of its entries, link by link',
  ids: 'the entries of the account are numbered without gaps',
  anchor: 'the chain of the account has the state of the backup',
  lot: 'what is left of a lot = its amount less what was spent and expired, in the order of spending',
  expiry: 'an expiry takes what was left of its lot',
} as const;

/** Entries of one read, where nothing else waits for this process. */
const manyEntries = 5_000;
/** Entries of one read beside calls: parsing and hashing them takes a few milliseconds. */
const fewEntries = 500;
const expiryKind = 4;

interface RawEntry {
  readonly account_id: bigint;
  readonly id: bigint;
  readonly kind: number;
  readonly amount: bigint;
  readonly generation_id: string | null;
  readonly key_id: bigint | null;
  readonly lot_id: bigint | null;
  readonly idempotency_key: string | null;
  readonly memo: string | null;
  readonly created_us: bigint;
  readonly refund_of: string | null;
  readonly record_digest: bigint | null;
  readonly link_rest: number;
}

interface RawBalance {
  readonly account_id: bigint;
  readonly lot_applied: bigint;
  readonly chain: Buffer;
}

interface RawLot {
  readonly account_id: bigint;
  readonly id: bigint;
  readonly remaining: bigint;
  readonly expires_at: number | null;
}

/**
 * Reads the ledger once, account by account in the order of the entries, and computes what follows
 * from the order: the chains of hashes, and the remainder of each lot. It has one page of entries
 * and the lots of its accounts in memory; `report` is called after each page.
 */
export async function walkLedger(
  sql: Sql,
  anchors: ReadonlyMap<number, Anchor>,
  report?: (walkedEntries: number) => void,
): Promise<readonly Difference[]> {
  const pageSize = report === undefined ? manyEntries : fewEntries;
  let count = 0;
  const found: Difference[] = [];
  const walked = new Set<number>();
  let account: AccountWalk | null = null;
  let after = { accountId: -1n, id: 0n };
  for (;;) {
    const page = await sql.query<RawEntry>(
      `SELECT account_id, id, kind, amount, generation_id, key_id, lot_id, idempotency_key, memo, ${microsecondsSql('created_at')} AS created_us,
              refund_of, record_digest, link_rest
       FROM ledger WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT ${pageSize}`,
      [after.accountId, after.id],
    );
    const accounts = await readAccounts(sql, [...new Set(page.map((row) => Number(row.account_id)))]);
    for (const row of page) {
      const id = Number(row.account_id);
      if (account?.id !== id) {
        found.push(...(account?.end() ?? []));
        account = new AccountWalk(id, accounts.get(id), anchors.get(id));
        walked.add(id);
      }
      account.take(row);
    }
    count += page.length;
    report?.(count);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = { accountId: last.account_id, id: last.id };
  }
  found.push(...(account?.end() ?? []));
  for (const [id, { entries }] of anchors)
    if (entries > 0n && !walked.has(id))
      found.push(difference('anchor', id, `${entries} entries`, 'no entries'));
  return found;
}

interface AccountRows {
  readonly balance: RawBalance | undefined;
  readonly lots: readonly RawLot[];
}

async function readAccounts(sql: Sql, ids: readonly number[]): Promise<ReadonlyMap<number, AccountRows>> {
  const accounts = [int8ArrayOfNumbers(ids)];
  const balances = await sql.query<RawBalance>(
    'SELECT account_id, lot_applied, chain FROM account_balance WHERE account_id = ANY($1::bigint[])',
    accounts,
  );
  const lots = await sql.query<RawLot>(
    'SELECT account_id, id, remaining, expires_at FROM credit_lot WHERE account_id = ANY($1::bigint[])',
    accounts,
  );
  const balanceOf = new Map(balances.map((row) => [Number(row.account_id), row]));
  const lotsOf = Map.groupBy(lots, (row) => Number(row.account_id));
  return new Map(ids.map((id) => [id, { balance: balanceOf.get(id), lots: lotsOf.get(id) ?? [] }]));
}

/** The chain and the lots of one account, computed from its entries. */
class AccountWalk {
  readonly id: number;
  readonly #rows: AccountRows;
  readonly #anchor: Anchor | undefined;
  readonly #found: Difference[] = [];
  #chain: Buffer = Buffer.alloc(0);
  #link: string[] = [];
  #entries = 0n;
  /** What was spent and is not charged to a lot yet. */
  #pending = 0n;
  #applied = 0n;
  readonly #remaining = new Map<number, bigint>();

  constructor(id: number, rows: AccountRows | undefined, anchor: Anchor | undefined) {
    this.id = id;
    this.#rows = rows ?? { balance: undefined, lots: [] };
    this.#anchor = anchor;
  }

  take(row: RawEntry): void {
    this.#chainUp(row);
    this.#follow(row);
  }

  end(): readonly Difference[] {
    const { balance, lots } = this.#rows;
    // Another check finds an account without a balance.
    if (balance === undefined) return this.#found;
    if (this.#link.length > 0 || !balance.chain.equals(this.#chain))
      this.#differ('chain', this.#chain.toString('hex'), balance.chain.toString('hex'));
    if (this.#anchor !== undefined && this.#anchor.entries > this.#entries)
      this.#differ('anchor', `${this.#anchor.entries} entries`, `${this.#entries}`);
    // The lots are sometimes charged without an entry, when credit that was due had been spent.
    this.#spend(balance.lot_applied - this.#applied);
    for (const lot of lots) {
      const expected = this.#remaining.get(Number(lot.id)) ?? 0n;
      if (lot.remaining !== expected)
        this.#differ('lot', `${expected}`, `${lot.remaining}`, `lot ${lot.id} of account ${this.id}`);
    }
    return this.#found;
  }

  #chainUp(row: RawEntry): void {
    this.#entries += 1n;
    if (row.id !== this.#entries)
      this.#differ('ids', `${this.#entries}`, `${row.id}`, `entry ${row.id} of account ${this.id}`);
    this.#link.push(entryText(chainedOf(row), row.link_rest));
    if (row.link_rest > 0) return;
    this.#chain = chained(this.#chain, linkOf(this.#link));
    this.#link = [];
    this.#passAnchor();
  }

  #passAnchor(): void {
    const [anchor, entries] = [this.#anchor, this.#entries];
    if (anchor === undefined || anchor.entries !== entries || anchor.chain.equals(this.#chain)) return;
    const chain = this.#chain.toString('hex');
    this.#differ('anchor', anchor.chain.toString('hex'), `${chain} after ${entries} entries`);
  }

  #follow({ id, kind, amount, lot_id }: RawEntry): void {
    const lotId = Number(lot_id ?? 0n);
    if (kind === expiryKind) {
      if (amount > 0n) {
        // Late usage was charged to credit that had expired.
        this.#pending -= amount;
        return;
      }
      this.#spend(this.#pending);
      const left = this.#remaining.get(lotId) ?? 0n;
      if (left !== -amount)
        this.#differ('expiry', `${-left}`, `${amount}`, `entry ${id} of account ${this.id}`);
      this.#remaining.set(lotId, 0n);
      this.#applied -= amount;
    } else if (amount > 0n) {
      this.#spend(this.#pending);
      this.#remaining.set(lotId, amount);
    } else this.#pending -= amount;
  }

  /** Charges the lots with `amount`: first to expire first, then the oldest. */
  #spend(amount: bigint): void {
    if (amount <= 0n) return;
    let rest = amount;
    const open = this.#rows.lots.filter((lot) => (this.#remaining.get(Number(lot.id)) ?? 0n) > 0n);
    const never = Number.POSITIVE_INFINITY;
    const order = open.toSorted(
      (a, b) => (a.expires_at ?? never) - (b.expires_at ?? never) || Number(a.id - b.id),
    );
    for (const lot of order) {
      const left = this.#remaining.get(Number(lot.id)) ?? 0n;
      const part = left < rest ? left : rest;
      this.#remaining.set(Number(lot.id), left - part);
      rest -= part;
    }
    this.#applied += amount - rest;
    this.#pending -= amount - rest;
  }

  #differ(check: keyof typeof walkChecks, expected: string, found: string, subject?: string): void {
    this.#found.push(difference(check, this.id, expected, found, subject));
  }
}

function chainedOf(row: RawEntry): ChainedEntry {
  return {
    accountId: Number(row.account_id),
    kind: row.kind,
    amount: row.amount,
    generationUuid: row.generation_id?.replaceAll('-', '') ?? null,
    keyId: row.key_id === null ? null : Number(row.key_id),
    lotId: row.lot_id === null ? null : Number(row.lot_id),
    idempotencyKey: row.idempotency_key,
    memo: row.memo,
    createdUs: Number(row.created_us),
    refundOf: row.refund_of?.replaceAll('-', '') ?? null,
    recordDigest: row.record_digest,
  };
}

function difference(
  check: keyof typeof walkChecks,
  accountId: number,
  expected: string,
  found: string,
  subject = `account ${accountId}`,
): Difference {
  return { check: walkChecks[check], subject, expected, found };
}
