import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { chained, entryText, linkOf, microsecondsSql } from '../store/digests.ts';
import { column, nullable, number, type RowOf, recordOf, uuid } from '../store/record.ts';
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

const walkedEntries = recordOf({
  id: column<bigint>('id'),
  accountId: number('account_id'),
  kind: column<number>('kind'),
  amount: column<bigint>('amount'),
  generationUuid: nullable(uuid('generation_id')),
  keyId: nullable(number('key_id')),
  lotId: nullable(number('lot_id')),
  idempotencyKey: column<string | null>('idempotency_key'),
  memo: column<string | null>('memo'),
  createdUs: number(microsecondsSql('created_at')),
  refundOf: nullable(uuid('refund_of')),
  recordDigest: column<bigint | null>('record_digest'),
  linkRest: column<number>('link_rest'),
});
type WalkedEntry = RowOf<typeof walkedEntries>;

const balances = recordOf({
  accountId: number('account_id'),
  lotApplied: column<bigint>('lot_applied'),
  chain: column<Buffer>('chain'),
});

const lots = recordOf({
  accountId: number('account_id'),
  id: number('id'),
  remaining: column<bigint>('remaining'),
  expiresAtMs: column<number | null>('expires_at'),
});

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
  let after = { accountId: -1, id: 0n };
  for (;;) {
    const page = await walkedEntries.all(
      sql,
      `SELECT ${walkedEntries.columns} FROM ledger WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT ${pageSize}`,
      [after.accountId, after.id],
    );
    const accounts = await readAccounts(sql, [...new Set(page.map((row) => row.accountId))]);
    for (const row of page) {
      const id = row.accountId;
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
    after = { accountId: last.accountId, id: last.id };
  }
  found.push(...(account?.end() ?? []));
  for (const [id, { entries }] of anchors)
    if (entries > 0n && !walked.has(id))
      found.push(difference('anchor', id, `${entries} entries`, 'no entries'));
  return found;
}

interface AccountRows {
  readonly balance: RowOf<typeof balances> | undefined;
  readonly lots: readonly RowOf<typeof lots>[];
}

async function readAccounts(sql: Sql, ids: readonly number[]): Promise<ReadonlyMap<number, AccountRows>> {
  const accounts = [int8ArrayOfNumbers(ids)];
  const readBalances = await balances.all(
    sql,
    `SELECT ${balances.columns} FROM account_balance WHERE account_id = ANY($1::bigint[])`,
    accounts,
  );
  const readLots = await lots.all(
    sql,
    `SELECT ${lots.columns} FROM credit_lot WHERE account_id = ANY($1::bigint[])`,
    accounts,
  );
  const balanceOf = new Map(readBalances.map((row) => [row.accountId, row]));
  const lotsOf = Map.groupBy(readLots, (row) => row.accountId);
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

  take(row: WalkedEntry): void {
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
    this.#spend(balance.lotApplied - this.#applied);
    for (const lot of lots) {
      const expected = this.#remaining.get(lot.id) ?? 0n;
      if (lot.remaining !== expected)
        this.#differ('lot', `${expected}`, `${lot.remaining}`, `lot ${lot.id} of account ${this.id}`);
    }
    return this.#found;
  }

  #chainUp(row: WalkedEntry): void {
    this.#entries += 1n;
    if (row.id !== this.#entries)
      this.#differ('ids', `${this.#entries}`, `${row.id}`, `entry ${row.id} of account ${this.id}`);
    this.#link.push(entryText(row, row.linkRest));
    if (row.linkRest > 0) return;
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

  #follow({ id, kind, amount, lotId: lot }: WalkedEntry): void {
    const lotId = lot ?? 0;
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
    const open = this.#rows.lots.filter((lot) => (this.#remaining.get(lot.id) ?? 0n) > 0n);
    const never = Number.POSITIVE_INFINITY;
    const order = open.toSorted((a, b) => (a.expiresAtMs ?? never) - (b.expiresAtMs ?? never) || a.id - b.id);
    for (const lot of order) {
      const left = this.#remaining.get(lot.id) ?? 0n;
      const part = left < rest ? left : rest;
      this.#remaining.set(lot.id, left - part);
      rest -= part;
    }
    this.#applied += amount - rest;
    this.#pending -= amount - rest;
  }

  #differ(check: keyof typeof walkChecks, expected: string, found: string, subject?: string): void {
    this.#found.push(difference(check, this.id, expected, found, subject));
  }
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
