import {
  chained,
  editionTextSql,
  generationDigestSql,
  lotDigestSql,
  priceTextSql,
  prunedMonthDigestSql,
  prunedSumsSql,
  quarantinedTextSql,
} from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';
import { type Anchor, type Difference, walkChecks, walkLedger } from './ledger-walk-sql.ts';
import { droppedMonthsSql } from './retention-sql.ts';

export type { Anchor, Difference } from './ledger-walk-sql.ts';

/**
 * The checks of the ledger against itself, each an independent sum over the rows that the money
 * came from. Every query returns the disagreeing rows only, so a clean ledger of any size returns
 * no rows.
 */
const checks: readonly {
  readonly check: string;
  readonly sql: string;
  /** It reads what the accounts have in common; the others compare rows of one account. */
  readonly isOfAll?: true;
}[] = [
  {
    check: 'balance of the account = sum of its ledger entries',
    sql: `SELECT 'account ' || b.account_id AS subject, coalesce(l.amount, 0)::text AS expected, b.balance::text AS found
          FROM account_balance b LEFT JOIN (SELECT account_id, sum(amount) AS amount FROM ledger GROUP BY 1) l USING (account_id)
          WHERE b.balance <> coalesce(l.amount, 0)`,
  },
  {
    check: 'total credits = sum of the entries that add credit',
    sql: `SELECT 'account ' || b.account_id AS subject, coalesce(l.amount, 0)::text AS expected, b.credits::text AS found
          FROM account_balance b LEFT JOIN (SELECT account_id, sum(amount) AS amount FROM ledger WHERE amount > 0 AND kind <> 4 GROUP BY 1) l USING (account_id)
          WHERE b.credits <> coalesce(l.amount, 0)`,
  },
  {
    check: 'total usage = sum of the entries that take credit',
    sql: `SELECT 'account ' || b.account_id AS subject, coalesce(l.amount, 0)::text AS expected, b.usage::text AS found
          FROM account_balance b LEFT JOIN (SELECT account_id, -sum(amount) AS amount FROM ledger WHERE amount < 0 OR kind = 4 GROUP BY 1) l USING (account_id)
          WHERE b.usage <> coalesce(l.amount, 0)`,
  },
  {
    check: 'number of entries',
    sql: `SELECT 'account ' || b.account_id AS subject, coalesce(l.n, 0)::text AS expected, b.entries::text AS found
          FROM account_balance b LEFT JOIN (SELECT account_id, count(*) AS n FROM ledger GROUP BY 1) l USING (account_id)
          WHERE b.entries <> coalesce(l.n, 0)`,
  },
  {
    check: 'every account of the ledger exists',
    sql: `SELECT DISTINCT 'account ' || l.account_id AS subject, 'an account' AS expected, 'none' AS found
          FROM ledger l WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.id = l.account_id)`,
  },
  {
    check: 'a balance for each account, and an account for each balance',
    sql: `SELECT 'account ' || account_id AS subject, 'an account and a balance' AS expected,
                 CASE WHEN b.n IS NULL THEN 'no balance' ELSE 'no account' END AS found
          FROM (SELECT id AS account_id, 1 AS n FROM account) a FULL JOIN (SELECT account_id, 1 AS n FROM account_balance) b USING (account_id)
          WHERE a.n IS NULL OR b.n IS NULL`,
  },
  {
    check: 'an account without entries has an empty chain',
    sql: `SELECT 'account ' || b.account_id AS subject, 'an empty chain' AS expected, encode(b.chain, 'hex') AS found
          FROM account_balance b WHERE b.chain <> '' AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.account_id = b.account_id)`,
  },
  {
    check: 'an entry of usage names a generation and its key; of the others only a refund may name a key',
    sql: `SELECT 'entry ' || id || ' of account ' || account_id AS subject, 'a generation and a key with usage only' AS expected,
                 concat_ws(' / ', 'kind ' || kind, generation_id, key_id) AS found
          FROM ledger WHERE (kind = 3) <> (generation_id IS NOT NULL) OR (kind <> 5 AND (kind = 3) <> (key_id IS NOT NULL))`,
  },
  {
    check: 'an entry of usage has the key, the instant and the digest of its generation',
    sql: `SELECT 'entry ' || l.id || ' of account ' || l.account_id AS subject,
                 concat_ws(' / ', g.key_id, g.settled_at, g.digest) AS expected,
                 concat_ws(' / ', l.key_id, l.created_at, l.record_digest) AS found
          FROM ledger l JOIN (SELECT account_id, id, key_id, settled_at, ${generationDigestSql('g')} AS digest FROM generation g WHERE cost > 0) g
            ON g.account_id = l.account_id AND g.id = l.generation_id
          WHERE l.kind = 3 AND (l.key_id <> g.key_id OR l.created_at <> g.settled_at OR l.record_digest IS DISTINCT FROM g.digest)`,
  },
  {
    check: 'one entry of its cost for each billed generation',
    sql: `SELECT 'generation ' || g.id AS subject, (-g.cost)::text AS expected, coalesce(l.amount::text, 'no entry') AS found
          FROM generation g LEFT JOIN ledger l ON l.account_id = g.account_id AND l.generation_id = g.id
          WHERE (g.cost > 0 AND l.amount IS DISTINCT FROM -g.cost) OR (g.cost = 0 AND l.amount IS NOT NULL)`,
  },
  {
    check: 'a generation for each usage entry',
    sql: `SELECT 'entry ' || l.id AS subject, 'a generation' AS expected, 'none' AS found
          FROM ledger l LEFT JOIN generation g ON g.account_id = l.account_id AND g.id = l.generation_id
          WHERE l.kind = 3 AND g.id IS NULL
            AND NOT EXISTS (SELECT 1 FROM ${droppedMonthsSql} m WHERE l.generation_id >= m.from_id AND l.generation_id < m.to_id)`,
  },
  {
    check: 'the usage entries of a dropped month = the sums that its records left, and later records',
    sql: `WITH entry AS (
            SELECT l.account_id, m.month, sum(-l.amount) AS cost, count(*) AS n
            FROM ${droppedMonthsSql} m JOIN ledger l ON l.generation_id >= m.from_id AND l.generation_id < m.to_id
            WHERE l.kind = 3 GROUP BY 1, 2),
          record AS (
            SELECT account_id, month, sum(cost) AS cost, sum(n) AS n FROM (
              SELECT account_id, month, cost, billed AS n FROM pruned_usage
              UNION ALL
              SELECT g.account_id, m.month, g.cost, 1 FROM ${droppedMonthsSql} m JOIN generation g ON g.id >= m.from_id AND g.id < m.to_id
              WHERE g.cost > 0) r
            GROUP BY 1, 2)
          SELECT 'account ' || account_id || ' in ' || month AS subject,
                 concat_ws(' / ', r.cost, r.n) AS expected, concat_ws(' / ', e.cost, e.n) AS found
          FROM record r FULL JOIN entry e USING (account_id, month)
          WHERE coalesce(r.cost, 0) <> coalesce(e.cost, 0) OR coalesce(r.n, 0) <> coalesce(e.n, 0)`,
  },
  {
    check: 'the sums that a dropped month left are those of its accounts together',
    isOfAll: true,
    sql: `SELECT 'month ' || m.month AS subject, concat_ws(' / ', m.cost, m.records) AS expected, concat_ws(' / ', u.cost, u.n) AS found
          FROM pruned_month m FULL JOIN (SELECT month, sum(cost) AS cost, sum(requests) AS n FROM pruned_usage GROUP BY 1) u USING (month)
          WHERE NOT EXISTS (SELECT 1 FROM pruning_month p WHERE p.month = u.month) AND (coalesce(m.cost, 0) <> coalesce(u.cost, 0) OR coalesce(m.records, 0) <> coalesce(u.n, 0))`,
  },
  {
    check: 'a billed generation costs what its tokens cost at the price it was billed with',
    sql: `SELECT 'generation ' || id AS subject, expected::text, found::text FROM (
            SELECT g.id, g.cost AS found, div(2 * (p.request
                + (g.prompt_tokens - reads - writes)::numeric * coalesce((tier->>'prompt')::bigint, p.prompt)
                + reads::numeric * coalesce((tier->>'cacheRead')::bigint, p.cache_read)
                + (writes - hours)::numeric * coalesce((tier->>'cacheWrite')::bigint, p.cache_write)
                + hours::numeric * coalesce((coalesce(tier, p.stated->'rates')->>'cacheWrite1h')::bigint, (tier->>'cacheWrite')::bigint, p.cache_write)
                + g.completion_tokens::numeric * coalesce((tier->>'completion')::bigint, p.completion)) + 1000000, 2000000) AS expected
            FROM generation g JOIN price_version p ON p.id = g.price_version,
              LATERAL (SELECT coalesce((g.detail->>'cache_read_tokens')::bigint, 0) AS reads,
                              coalesce((g.detail->>'cache_write_tokens')::bigint, 0) AS writes,
                              coalesce((g.detail->>'cache_write_1h_tokens')::bigint, 0) AS hours,
                              p.stated->'rates'->'tiers'->(g.detail->>'billed_tier') AS tier) c
            WHERE g.cost > 0) priced
          WHERE found <> expected`,
  },
  {
    check: 'every billed generation names the price it was billed with',
    sql: `SELECT 'generation ' || g.id AS subject, 'a price version' AS expected, coalesce(g.price_version::text, 'none') AS found
          FROM generation g LEFT JOIN price_version p ON p.id = g.price_version WHERE g.cost > 0 AND p.id IS NULL`,
  },
  {
    check: 'no generation was refunded more than it cost',
    sql: `SELECT 'generation ' || l.refund_of AS subject, 'at most ' || coalesce(g.cost, -c.amount, 0) AS expected, l.amount::text AS found
          FROM (SELECT account_id, refund_of, sum(amount) AS amount FROM ledger WHERE refund_of IS NOT NULL GROUP BY 1, 2) l
          LEFT JOIN generation g ON g.account_id = l.account_id AND g.id = l.refund_of
          LEFT JOIN ledger c ON c.account_id = l.account_id AND c.generation_id = l.refund_of
          WHERE l.amount > coalesce(g.cost, -c.amount, 0)`,
  },
  {
    check: 'the day of a generation is the Seoul day of its settlement',
    sql: `SELECT 'generation ' || id AS subject, ((settled_at AT TIME ZONE 'Asia/Seoul')::date)::text AS expected, day::text AS found
          FROM generation WHERE day <> (settled_at AT TIME ZONE 'Asia/Seoul')::date`,
  },
  {
    check: 'usage of the key on the day = sum of its generations',
    sql: `SELECT 'key ' || key_id || ' of account ' || account_id || ' on ' || day AS subject,
                 concat_ws(' / ', g.cost, g.n, g.p, g.c, g.digest) AS expected,
                 concat_ws(' / ', u.cost, u.requests, u.prompt_tokens, u.completion_tokens, u.records_digest) AS found
          FROM key_usage_day u FULL JOIN (
            SELECT account_id, key_id, day, sum(cost) AS cost, sum(n) AS n, sum(prompt_tokens) AS p, sum(completion_tokens) AS c,
                   bit_xor(digest::bigint) AS digest FROM (
              SELECT account_id, key_id, day, cost, 1 AS n, prompt_tokens, completion_tokens, ${generationDigestSql('generation')} AS digest
              FROM generation
              UNION ALL
              SELECT account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens, records_digest FROM pruned_usage) r
            GROUP BY 1, 2, 3) g USING (account_id, key_id, day)
          WHERE u.cost IS DISTINCT FROM g.cost OR u.requests IS DISTINCT FROM g.n OR u.prompt_tokens IS DISTINCT FROM g.p
             OR u.completion_tokens IS DISTINCT FROM g.c OR u.records_digest IS DISTINCT FROM g.digest`,
  },
  {
    check:
      'what was given back to the limit of the key on the day = the refunds of its generations that name it',
    sql: `SELECT 'key ' || key_id || ' of account ' || account_id || ' on ' || day AS subject,
                 coalesce(r.amount, 0)::text AS expected, coalesce(u.returned, 0)::text AS found
          FROM (SELECT account_id, key_id, day, returned FROM key_usage_day WHERE returned <> 0) u FULL JOIN (
            SELECT l.account_id, l.key_id, (c.created_at AT TIME ZONE 'Asia/Seoul')::date AS day, sum(l.amount) AS amount
            FROM ledger l JOIN ledger c ON c.account_id = l.account_id AND c.generation_id = l.refund_of
            WHERE l.kind = 5 AND l.key_id IS NOT NULL GROUP BY 1, 2, 3) r USING (account_id, key_id, day)
          WHERE u.returned IS DISTINCT FROM r.amount`,
  },
  {
    check: "every app that is counted is the account's own",
    sql: `SELECT 'app ' || u.app_id AS subject, 'an app of account ' || u.account_id AS expected, 'none' AS found
          FROM (SELECT account_id, app_id FROM generation UNION SELECT account_id, app_id FROM pruned_usage) u
          WHERE u.app_id <> 0 AND NOT EXISTS (SELECT 1 FROM app a WHERE a.account_id = u.account_id AND a.id = u.app_id)`,
  },
  {
    check: 'the lots of an account hold its credits less what they were charged',
    sql: `SELECT 'account ' || b.account_id AS subject, (b.credits - b.lot_applied)::text AS expected, coalesce(l.remaining, 0)::text AS found
          FROM account_balance b LEFT JOIN (SELECT account_id, sum(remaining) AS remaining FROM credit_lot GROUP BY 1) l USING (account_id)
          WHERE b.credits - b.lot_applied <> coalesce(l.remaining, 0)`,
  },
  {
    check: 'a lot is as large as the entry that made it',
    sql: `SELECT 'lot ' || id || ' of account ' || account_id AS subject, coalesce(l.amount::text, 'no entry') AS expected, coalesce(c.amount::text, 'no lot') AS found
          FROM credit_lot c FULL JOIN (SELECT account_id, lot_id AS id, amount FROM ledger WHERE amount > 0 AND kind <> 4) l USING (account_id, id)
          WHERE c.amount IS DISTINCT FROM l.amount`,
  },
  {
    check: 'a lot has the kind, the instant and the digest of the entry that made it',
    sql: `SELECT 'lot ' || c.id || ' of account ' || c.account_id AS subject, concat_ws(' / ', l.kind, l.created_at, l.record_digest) AS expected,
                 concat_ws(' / ', c.kind, c.granted_at, ${lotDigestSql('c')}) AS found
          FROM credit_lot c JOIN ledger l ON l.account_id = c.account_id AND l.lot_id = c.id AND l.amount > 0 AND l.kind <> 4
          WHERE c.kind <> l.kind OR c.granted_at <> l.created_at OR l.record_digest IS DISTINCT FROM ${lotDigestSql('c')}`,
  },
  {
    check: 'no more of an expiry was taken back than had expired',
    sql: `SELECT 'lot ' || lot_id || ' of account ' || account_id AS subject, 'at most 0' AS expected, sum(amount)::text AS found
          FROM ledger WHERE kind = 4 GROUP BY account_id, lot_id HAVING sum(amount) > 0`,
  },
  {
    check: 'the instant until which credit has expired = the last one of the lots that expired',
    sql: `SELECT 'account ' || b.account_id AS subject, e.until::text AS expected, b.expired_until::text AS found
          FROM account_balance b LEFT JOIN (
            SELECT l.account_id, max(c.expires_at) AS until FROM ledger l JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
            WHERE l.kind = 4 GROUP BY 1) e USING (account_id)
          WHERE b.expired_until IS DISTINCT FROM e.until`,
  },
  {
    check: 'a dropped month is as it was when it was dropped',
    isOfAll: true,
    sql: `SELECT 'month ' || m.month AS subject, encode(digest, 'hex') AS expected, encode(${prunedMonthDigestSql}, 'hex') AS found
          FROM pruned_month m LEFT JOIN ${prunedSumsSql()} u ON u.month = m.month WHERE digest <> ${prunedMonthDigestSql}`,
  },
  {
    check: 'every price that an edition of the catalogue offers exists',
    isOfAll: true,
    sql: `SELECT 'edition ' || e.id AS subject, 'price version ' || (o->>'priceVersion') AS expected, 'none' AS found
          FROM catalogue_edition e, jsonb_array_elements(e.offers) o
          WHERE NOT EXISTS (SELECT 1 FROM price_version p WHERE p.id = (o->>'priceVersion')::bigint)`,
  },
  {
    check: 'every settlement that the database refused is settled or written off (naru ledger quarantine)',
    isOfAll: true,
    sql: `SELECT 'generation ' || generation_id AS subject, 'a decision' AS expected, 'refused: ' || reason AS found
          FROM quarantined_settlement WHERE resolution IS NULL`,
  },
  {
    check: 'every refused settlement that was settled later has its generation',
    isOfAll: true,
    sql: `SELECT 'generation ' || q.generation_id AS subject, 'a generation' AS expected, 'none' AS found
          FROM quarantined_settlement q LEFT JOIN generation g ON replace(g.id::text, '-', '') = q.generation_id
          WHERE q.resolution = 'settled' AND g.id IS NULL AND NOT EXISTS (
            SELECT 1 FROM ${droppedMonthsSql} m
            WHERE q.generation_id >= replace(m.from_id::text, '-', '') AND q.generation_id < replace(m.to_id::text, '-', ''))`,
  },
  {
    check: 'a refused settlement that was settled later has its entry, and one that was written off has none',
    isOfAll: true,
    sql: `SELECT 'generation ' || q.generation_id AS subject, CASE q.resolution WHEN 'settled' THEN (-q.cost)::text ELSE 'no entry' END AS expected,
                 coalesce(l.amount || ' of account ' || l.account_id, 'no entry') AS found
          FROM quarantined_settlement q LEFT JOIN ledger l ON l.kind = 3 AND replace(l.generation_id::text, '-', '') = q.generation_id
          WHERE (q.resolution = 'settled' AND q.cost > 0 AND (l.amount IS DISTINCT FROM -q.cost OR l.account_id <> q.account_id))
             OR (q.resolution = 'written off' AND l.amount IS NOT NULL)`,
  },
  {
    check: 'an entry for each confirmed top-up, and a confirmed top-up for each such entry',
    isOfAll: true,
    sql: `WITH entry AS MATERIALIZED (
            SELECT account_id, idempotency_key, id, kind::int, amount, memo FROM ledger WHERE idempotency_key LIKE 'topup-request:%'),
          request AS (
            SELECT account_id, 'topup-request:' || id AS idempotency_key, entry_id AS id, 1 AS kind, amount, bank_reference AS memo
            FROM topup_request WHERE state = 'confirmed')
          SELECT idempotency_key || ' of account ' || account_id AS subject,
                 coalesce(nullif(concat_ws(' / ', r.id, r.kind, r.amount, r.memo), ''), 'no entry') AS expected,
                 coalesce(nullif(concat_ws(' / ', e.id, e.kind, e.amount, e.memo), ''), 'no entry') AS found
          FROM request r FULL JOIN entry e USING (account_id, idempotency_key)
          WHERE (r.id, r.kind, r.amount, r.memo) IS DISTINCT FROM (e.id, e.kind, e.amount, e.memo)`,
  },
  {
    check: 'an entry for each paid payment, and one for what was canceled of it',
    isOfAll: true,
    sql: `WITH entry AS MATERIALIZED (
            SELECT account_id, memo, max(id) FILTER (WHERE kind = 1) AS id, sum(amount) FILTER (WHERE kind = 1) AS amount,
                   max(idempotency_key) FILTER (WHERE kind = 1) AS key, coalesce(-sum(amount) FILTER (WHERE kind <> 1), 0) AS canceled
            FROM ledger WHERE idempotency_key LIKE 'payment:%' OR idempotency_key LIKE 'payment-cancel:%' GROUP BY account_id, memo),
          payment AS (
            SELECT account_id, order_id AS memo, entry_id AS id, amount, 'payment:' || payment_key AS key, canceled
            FROM payment_order WHERE entry_id IS NOT NULL)
          SELECT memo || ' of account ' || account_id AS subject,
                 coalesce(nullif(concat_ws(' / ', p.id, p.amount, p.key, p.canceled), ''), 'no entry') AS expected,
                 coalesce(nullif(concat_ws(' / ', e.id, e.amount, e.key, e.canceled), ''), 'no entry') AS found
          FROM payment p FULL JOIN entry e USING (account_id, memo)
          WHERE (p.id, p.amount, p.key, p.canceled) IS DISTINCT FROM (e.id, e.amount, e.key, e.canceled)`,
  },
  {
    check: 'no row of an account is there twice',
    sql: onceEach([
      ['account', 'id'],
      ['account_balance', 'account_id'],
      ['api_key', 'account_id, id'],
      ['app', 'account_id, id'],
      ['credit_lot', 'account_id, id'],
      ['generation', 'account_id, id'],
      ['key_usage_day', 'account_id, key_id, day'],
      ['ledger', 'account_id, id'],
      ['ledger', 'account_id, generation_id'],
      ['ledger', 'account_id, idempotency_key'],
      ['pruned_usage', 'account_id, month, key_id, app_id, model, day'],
    ]),
  },
  {
    check: 'no row beside the accounts is there twice',
    isOfAll: true,
    sql: onceEach([
      ['catalogue_edition', 'id'],
      ['key_directory', 'hash'],
      ['key_directory', 'key_id'],
      ['payment_order', 'id'],
      ['payment_order', 'order_id'],
      ['payment_order', 'payment_key'],
      ['price_version', 'id'],
      ['pruned_month', 'month'],
      ['quarantined_settlement', 'generation_id'],
      ['topup_request', 'id'],
      ['topup_request', 'bank_reference'],
    ]),
  },
  {
    check: 'every key that spent belongs to the account that paid',
    sql: `SELECT DISTINCT 'key ' || u.key_id AS subject, 'account ' || u.account_id AS expected, 'no such key' AS found
          FROM key_usage_day u LEFT JOIN api_key k ON k.account_id = u.account_id AND k.id = u.key_id WHERE k.id IS NULL`,
  },
];

/** The rows that have a key twice, although an index excluded that; null excludes nothing. */
function onceEach(keys: readonly (readonly [table: string, columns: string])[]): string {
  const each = keys.map(
    ([table, columns]) =>
      `SELECT concat_ws(' ', '${table}', ${columns}) AS subject, 'one row' AS expected, count(*) || ' rows' AS found
       FROM ${table} WHERE (${columns}) IS NOT NULL GROUP BY ${columns} HAVING count(*) > 1`,
  );
  return each.join(' UNION ALL ');
}

/**
 * The chains of the catalogue's prices and editions, and of the settlements that the database
 * refused.
 */
const headedChains: readonly {
  readonly check: string;
  readonly subject: string;
  readonly rows: string;
  readonly head: string;
}[] = [
  {
    check: 'the chain of the prices = the hashes of the price versions',
    subject: 'catalogue',
    rows: `SELECT ${priceTextSql} AS text FROM price_version ORDER BY id`,
    head: 'SELECT prices AS count, price_chain AS chain FROM catalogue_head',
  },
  {
    check: 'the chain of the editions = the hashes of the editions of the catalogue',
    subject: 'catalogue',
    rows: `SELECT ${editionTextSql} AS text FROM catalogue_edition ORDER BY id`,
    head: 'SELECT editions AS count, edition_chain AS chain FROM catalogue_head',
  },
  {
    check: 'the chain of the refused settlements = the hashes of their rows',
    subject: 'quarantine',
    rows: `SELECT ${quarantinedTextSql} AS text FROM quarantined_settlement ORDER BY number`,
    head: 'SELECT refused AS count, chain FROM quarantine_head',
  },
];

/** The names of all checks. */
export const checkNames: readonly string[] = [
  ...[...checks, ...headedChains].map((row) => row.check),
  ...Object.values(walkChecks),
];

/**
 * Makes the transaction see the database as it is at its next statement, whatever others commit
 * meanwhile; no month of records is dropped until it ends.
 */
export async function freezeView(sql: Sql): Promise<void> {
  await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await sql.query('LOCK TABLE generation IN ACCESS SHARE MODE');
}

/** An arbitrary constant: one console verifies at a time. */
const verificationLock = 7_236_482_621;

/** False when a console verifies already. Run in a transaction, which holds the lock. */
export async function lockVerification(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ locked: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS locked', [
    verificationLock,
  ]);
  return row?.locked === true;
}

/** The number of the connection, by which another one can cancel its statement. */
export async function backendOf(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return row?.pid ?? 0;
}

/** Cancels the statement of another connection, if it runs one. */
export async function cancelBackend(sql: Sql, backend: number): Promise<void> {
  await sql.query('SELECT pg_cancel_backend($1::int)', [backend]);
}

/** How many differences of one check are reported. */
export const maxDifferences = 100;

/** How far a verification is. */
export interface VerifyProgress {
  /** The name of the check under way. */
  readonly check: string;
  /** From 0 to 1. */
  readonly share: number;
}

/** The walk over the entries takes as long as this many other checks. */
const walkWeight = 10;
const ofAll = checks.filter(({ isOfAll }) => isOfAll === true);
const ofAccounts = checks.filter(({ isOfAll }) => isOfAll !== true);

/** Who follows a verification beside calls, and ends it. */
export interface VerifyFollower {
  readonly signal: AbortSignal;
  readonly report: (progress: VerifyProgress) => void;
}

/** Counts the steps of a verification of so many parts of the accounts. */
export class VerifySteps {
  readonly #steps: number;
  readonly #follower: VerifyFollower | undefined;
  #done = 0;

  constructor(parts = 1, follower?: VerifyFollower) {
    this.#steps = ofAll.length + headedChains.length + parts * (ofAccounts.length + walkWeight);
    this.#follower = follower;
  }

  /** Whether others wait for this process. */
  get isBesideCalls(): boolean {
    return this.#follower !== undefined;
  }

  /** A check begins. Throws when the verification is to end. */
  next(check: string): void {
    this.#report(check, 0);
    this.#done += 1;
  }

  /** So much of the walk over the entries of a part is done, of 1. Throws as `next`. */
  walked(share: number): void {
    this.#report(walkChecks.chain, walkWeight * Math.min(1, share));
  }

  walkEnded(): void {
    this.#done += walkWeight;
  }

  #report(check: string, more: number): void {
    this.#follower?.signal.throwIfAborted();
    this.#follower?.report({ check, share: (this.#done + more) / this.#steps });
  }
}

/** What is verified of some accounts. */
export interface AccountsToVerify {
  /** The state of the chains when a backup was made, by account. */
  readonly anchors: ReadonlyMap<number, Anchor>;
  /** How many entries they have. */
  readonly entries: number;
}

/**
 * Runs the checks that compare rows of one account, in the caller's transaction; at most 100
 * differences of each.
 */
export async function findDifferencesOfAccounts(
  sql: Sql,
  { anchors, entries }: AccountsToVerify,
  steps: VerifySteps,
): Promise<readonly Difference[]> {
  const found = await runChecks(sql, ofAccounts, steps);
  const report = (count: number): void => steps.walked(count / Math.max(1, entries));
  found.push(...(await walkLedger(sql, anchors, steps.isBesideCalls ? report : undefined)));
  steps.walkEnded();
  return firstOfEach(found);
}

/** Runs the checks of what the accounts have in common, in the caller's transaction. */
export async function findDifferencesOfAll(sql: Sql, steps: VerifySteps): Promise<readonly Difference[]> {
  return [...(await runChecks(sql, ofAll, steps)), ...(await walkHeads(sql, steps))];
}

/** The first differences of each check. */
export function firstOfEach(found: readonly Difference[]): Difference[] {
  const byCheck = Map.groupBy(found, ({ check }) => check);
  return [...byCheck.values()].flatMap((differences) => differences.slice(0, maxDifferences));
}

async function runChecks(sql: Sql, rows: typeof checks, steps: VerifySteps): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const row of rows) {
    steps.next(row.check);
    const differences = await sql.query<{ subject: string; expected: string; found: string }>(
      `${row.sql} LIMIT ${maxDifferences}`,
    );
    found.push(...differences.map((difference) => ({ check: row.check, ...difference })));
  }
  return found;
}

async function walkHeads(sql: Sql, steps: VerifySteps): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const chain of headedChains) {
    steps.next(chain.check);
    found.push(...(await walkHeaded(sql, chain)));
  }
  return found;
}

async function walkHeaded(
  sql: Sql,
  { check, subject, rows, head }: (typeof headedChains)[number],
): Promise<readonly Difference[]> {
  const texts = await sql.query<{ text: string }>(rows);
  let chain: Buffer = Buffer.alloc(0);
  for (const { text } of texts) chain = chained(chain, Buffer.from(text));
  const [found] = await sql.query<{ count: bigint; chain: Buffer }>(head);
  if (found?.count === BigInt(texts.length) && found.chain.equals(chain)) return [];
  const expected = `${texts.length} rows, ${chain.toString('hex')}`;
  const reported = found === undefined ? 'none' : `${found.count} rows, ${found.chain.toString('hex')}`;
  return [{ check, subject, expected, found: reported }];
}

/** The number of rows, for the report beside a verdict. */
export async function countRows(
  sql: Sql,
): Promise<{ readonly accounts: number; readonly entries: number; readonly generations: number }> {
  const [row] = await sql.query<{ accounts: bigint; entries: bigint; generations: bigint }>(
    'SELECT (SELECT count(*) FROM account) AS accounts, (SELECT count(*) FROM ledger) AS entries, (SELECT count(*) FROM generation) AS generations',
  );
  return {
    accounts: Number(row?.accounts ?? 0n),
    entries: Number(row?.entries ?? 0n),
    generations: Number(row?.generations ?? 0n),
  };
}
