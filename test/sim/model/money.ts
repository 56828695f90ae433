import { createHash } from 'node:crypto';
import { amountsOf, arrayOf, numbersOf } from './arrays.ts';
import { dashed, Selection, type Statement } from './statement.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

type Balance = Tables['account_balance'];

function putBalance(tx: Transaction, row: Balance): void {
  if (row.credits < 0n || row.usage < 0n) throw new ServerError('23514', 'totals_only_grow_from_zero');
  if (row.lot_applied < 0n || row.lot_applied > row.usage)
    throw new ServerError('23514', 'lots_follow_usage');
  tx.put('account_balance', String(row.account_id), row);
}

const balanceColumns = {
  accountId: 'account_id',
  credits: 'credits',
  usage: 'usage',
  version: 'version',
};
const balances = new Selection(balanceColumns);
const settledBalances = new Selection({ ...balanceColumns, expiredUntilMs: 'expired_until' });
const lockedBalances = new Selection({
  accountId: 'account_id',
  credits: 'credits',
  usage: 'usage',
  lotApplied: 'lot_applied',
});
const lots = new Selection({
  accountId: 'account_id',
  id: 'id',
  remaining: 'remaining',
  expiresAtMs: 'expires_at',
});
const acts = new Selection({
  id: 'l.id',
  accountId: 'l.account_id',
  kind: 'l.kind',
  amountMicro: 'l.amount',
  generationUuid: 'generation_id',
  memo: 'memo',
  createdAtMs: 'created_at',
  refundOf: 'refund_of',
  expiresAtMs: 'expires_at',
});

function rawBalance(row: Balance): object {
  return settledBalances.of(row, { accountId: BigInt(row.account_id) });
}

/** The chain when one more link is at its end. */
function chained(chain: Buffer, link: unknown): Buffer {
  return createHash('sha256')
    .update(chain)
    .update(link as Buffer)
    .digest();
}

/** The later of two instants, either of which may be unknown. */
function latest(before: number | null, next: unknown): number | null {
  return next === null ? before : Math.max(before ?? Number(next), Number(next));
}

/** Behind the change of the balance, which has counted the entry. */
function putEntry(tx: Transaction, entry: Omit<Tables['ledger'], 'id'>): number {
  if (entry.amount === 0n) throw new ServerError('23514', 'entry_moves_money');
  if (entry.kind !== 4 && entry.kind !== 6 && [1, 2, 5].includes(entry.kind) !== entry.amount > 0n)
    throw new ServerError('23514', 'entry_sign_follows_kind');
  if ((entry.kind === 5) !== (entry.refund_of !== null))
    throw new ServerError('23514', 'refund_names_its_generation');
  const balance = tx.get('account_balance', String(entry.account_id));
  const id = (balance?.entries ?? 0) - entry.link_rest;
  // One entry per generation: its key is the unique index.
  const key =
    entry.generation_id === null ? `${entry.account_id}:${id}` : `${entry.account_id}/${entry.generation_id}`;
  if (tx.get('ledger', key) !== undefined) throw new ServerError('23505', 'ledger_one_entry_per_generation');
  if (entry.idempotency_key !== null)
    for (const [, { account_id, idempotency_key }] of tx.rows('ledger'))
      if (account_id === entry.account_id && idempotency_key === entry.idempotency_key)
        throw new ServerError('23505', 'ledger_idempotency');
  tx.put('ledger', key, { ...entry, id });
  return id;
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

const usageColumns =
  'account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens, records_digest';

function usageKeys([accounts, keys, days]: readonly unknown[]): readonly string[] {
  return arrayOf(accounts).map(
    (account, at) => `${String(account)}/${String(arrayOf(keys)[at])}/${String(arrayOf(days)[at])}`,
  );
}

/** Adds to the usage of keys by day. */
const addKeyUsage: Statement = {
  text: `INSERT INTO key_usage_day AS t (${usageColumns}) SELECT ${usageColumns} FROM unnest($1::bigint[], $2::bigint[], $3::date[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) u (${usageColumns}) ON CONFLICT (account_id, key_id, day) DO UPDATE SET cost = t.cost + excluded.cost, requests = t.requests + excluded.requests, prompt_tokens = t.prompt_tokens + excluded.prompt_tokens, completion_tokens = t.completion_tokens + excluded.completion_tokens, records_digest = t.records_digest # excluded.records_digest`,
  locks: (_tx, values) => usageKeys(values).map((key) => `key_usage_day ${key}`),
  run: (tx, values) => {
    const [accounts, keys, days] = values.slice(0, 3).map(arrayOf);
    const [cost, requests, prompt, completion, digests] = values.slice(3).map(amountsOf);
    usageKeys(values).forEach((key, at) => {
      const before = tx.get('key_usage_day', key);
      tx.put('key_usage_day', key, {
        account_id: Number(accounts?.[at]),
        key_id: Number(keys?.[at]),
        day: String(days?.[at]),
        cost: (before?.cost ?? 0n) + (cost?.[at] ?? 0n),
        requests: (before?.requests ?? 0n) + (requests?.[at] ?? 0n),
        prompt_tokens: (before?.prompt_tokens ?? 0n) + (prompt?.[at] ?? 0n),
        completion_tokens: (before?.completion_tokens ?? 0n) + (completion?.[at] ?? 0n),
        records_digest: (before?.records_digest ?? 0n) ^ (digests?.[at] ?? 0n),
      });
    });
    return [];
  },
};

const generationColumns =
  'account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail, app_id';

/** Inserts the records that are not there yet, and returns their ids. */
const insertGenerations: Statement = {
  text: `INSERT INTO generation (${generationColumns}) SELECT account_id, id, key_id, created_at, settled_at, day, status::smallint, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail::json, app_id FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::date[], $7::int[], $8::text[], $9::text[], $10::text[], $11::text[], $12::int[], $13::int[], $14::bigint[], $15::bigint[], $16::text[], $17::bigint[]) AS b (${generationColumns})`,
  locks: (_tx, [accounts, ids]) =>
    arrayOf(ids).map((id, at) => `generation ${String(arrayOf(accounts)[at])}/${String(id)}`),
  run: (tx, values) => {
    const columns = values.map(arrayOf);
    const cell = (column: number, at: number): unknown => columns[column]?.[at];
    return (columns[1] ?? []).flatMap((id, at) => {
      const key = `${String(cell(0, at))}/${String(id)}`;
      if (tx.get('generation', key) !== undefined) return [];
      const cost = BigInt(cell(13, at) as bigint);
      if (cost < 0n) throw new ServerError('23514', 'cost_is_not_negative');
      const priceVersion = cell(14, at);
      tx.put('generation', key, {
        account_id: Number(cell(0, at)),
        id: String(id),
        key_id: Number(cell(2, at)),
        created_at: Number(cell(3, at)),
        settled_at: Number(cell(4, at)),
        status: Number(cell(6, at)),
        error_type: textOrNull(cell(7, at)),
        model: textOrNull(cell(8, at)),
        provider: textOrNull(cell(9, at)),
        finish_reason: textOrNull(cell(10, at)),
        day: String(cell(5, at)),
        cost,
        prompt_tokens: Number(cell(11, at)),
        completion_tokens: Number(cell(12, at)),
        price_version: priceVersion === null ? null : Number(priceVersion),
        app_id: Number(cell(16, at)),
        detail: String(cell(15, at)),
      });
      return [{ id: dashed(String(id)) }];
    });
  },
};

/** The statements about balances, lots, entries and settlements. */
export const moneyStatements: readonly Statement[] = [
  {
    text: 'INSERT INTO account (name, email, created_at) VALUES ($1, $2, to_timestamp($3::float8 / 1000)) RETURNING id',
    run: (tx, [name]) => {
      const id = tx.store.nextNumber('account');
      tx.put('account', String(id), { id, name: String(name) });
      return [{ id: BigInt(id) }];
    },
  },
  {
    text: 'INSERT INTO account_balance (account_id) VALUES ($1)',
    run: (tx, [id]) => {
      if (tx.get('account_balance', String(id)) !== undefined)
        throw new ServerError('23505', 'account_balance_pkey');
      const zero = {
        credits: 0n,
        usage: 0n,
        lot_applied: 0n,
        entries: 0,
        version: 0n,
        chain: Buffer.alloc(0),
        expired_until: null,
      };
      putBalance(tx, { account_id: Number(id), ...zero });
      return [];
    },
  },
  {
    text: `SELECT ${balances.text} FROM account_balance WHERE account_id = ANY($1::bigint[])`,
    run: (tx, [ids]) =>
      [...new Set(numbersOf(ids))]
        .sort((a, b) => a - b)
        .flatMap((id) => {
          const row = tx.get('account_balance', String(id));
          return row === undefined ? [] : [rawBalance(row)];
        }),
  },
  {
    text: `SELECT ${settledBalances.text} FROM account_balance WHERE account_id = ANY($1::bigint[])`,
    run: (tx, [ids]) =>
      [...new Set(numbersOf(ids))]
        .sort((a, b) => a - b)
        .flatMap((id) => {
          const row = tx.get('account_balance', String(id));
          return row === undefined ? [] : [rawBalance(row)];
        }),
  },
  {
    text: 'SELECT c.account_id, c.id, c.granted_at, c.expires_at, -sum(l.amount)::bigint AS expired FROM ledger l JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id WHERE l.account_id = ANY($1::bigint[]) AND l.kind = 4 GROUP BY c.account_id, c.id HAVING sum(l.amount) < 0 ORDER BY c.account_id, c.expires_at, c.id',
    run: (tx, [accounts]) => {
      const expired = new Map<number, bigint>();
      for (const [, { account_id, kind, lot_id, amount }] of tx.rows('ledger'))
        if (kind === 4 && lot_id !== null && numbersOf(accounts).includes(account_id))
          expired.set(lot_id, (expired.get(lot_id) ?? 0n) - amount);
      return [...tx.rows('credit_lot')]
        .map(([, lot]) => lot)
        .filter(({ id }) => (expired.get(id) ?? 0n) > 0n)
        .sort(
          (a, b) => a.account_id - b.account_id || (a.expires_at ?? 0) - (b.expires_at ?? 0) || a.id - b.id,
        )
        .map(({ account_id, id, granted_at, expires_at }) => ({
          account_id: BigInt(account_id),
          id: BigInt(id),
          granted_at,
          expires_at,
          expired: expired.get(id) ?? 0n,
        }));
    },
  },
  {
    text: `SELECT ${lockedBalances.text} FROM account_balance WHERE account_id = ANY($1::bigint[]) ORDER BY account_id FOR UPDATE`,
    locks: (_tx, [ids]) =>
      numbersOf(ids)
        .toSorted((a, b) => a - b)
        .map((id) => `balance ${id}`),
    run: (tx, [ids]) =>
      numbersOf(ids)
        .toSorted((a, b) => a - b)
        .flatMap((id) => {
          const row = tx.get('account_balance', String(id));
          return row === undefined ? [] : [lockedBalances.of(row, { accountId: BigInt(id) })];
        }),
  },
  {
    text: `SELECT ${lots.text} FROM credit_lot WHERE account_id = ANY($1::bigint[]) AND remaining > 0 ORDER BY account_id, expires_at NULLS LAST, id`,
    run: (tx, [accounts]) =>
      [...tx.rows('credit_lot')]
        .map(([, row]) => row)
        .filter((row) => numbersOf(accounts).includes(row.account_id) && row.remaining > 0n)
        .sort(
          (a, b) =>
            a.account_id - b.account_id ||
            (a.expires_at ?? Number.MAX_VALUE) - (b.expires_at ?? Number.MAX_VALUE) ||
            a.id - b.id,
        )
        .map((row) => lots.of(row, { accountId: BigInt(row.account_id), id: BigInt(row.id) })),
  },
  {
    text: 'UPDATE credit_lot l SET remaining = u.remaining FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (account_id, id, remaining) WHERE l.account_id = ANY($1::bigint[]) AND l.account_id = u.account_id AND l.id = u.id',
    run: (tx, [, ids, remainders]) => {
      numbersOf(ids).forEach((id, at) => {
        const row = tx.get('credit_lot', String(id));
        const remaining = amountsOf(remainders)[at] ?? 0n;
        if (remaining < 0n) throw new ServerError('23514', 'lot_remainder_is_part_of_it');
        if (row !== undefined) tx.put('credit_lot', String(id), { ...row, remaining });
      });
      return [];
    },
  },
  {
    text: 'UPDATE account_balance b SET balance = b.balance + m.credits - m.usage, credits = b.credits + m.credits, usage = b.usage + m.usage, lot_applied = b.lot_applied + m.lot_applied, entries = b.entries + m.entries, version = b.version + 1, chain = CASE m.entries WHEN 0 THEN b.chain ELSE sha256(b.chain || m.link) END, expired_until = greatest(b.expired_until, to_timestamp(m.expired_until::float8 / 1000)) FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[]) m (account_id, credits, usage, lot_applied, entries, link, expired_until) WHERE b.account_id = ANY($1::bigint[]) AND b.account_id = m.account_id',
    locks: (_tx, [ids]) => numbersOf(ids).map((id) => `balance ${id}`),
    run: (tx, [ids, ...moved]) => {
      const [credits, usage, lots, entries] = moved.slice(0, 4).map(amountsOf);
      const links = arrayOf(moved[4]);
      const expired = arrayOf(moved[5]);
      numbersOf(ids).forEach((id, at) => {
        const row = tx.get('account_balance', String(id));
        if (row === undefined) return;
        const added = Number(entries?.[at]);
        putBalance(tx, {
          account_id: row.account_id,
          credits: row.credits + (credits?.[at] ?? 0n),
          usage: row.usage + (usage?.[at] ?? 0n),
          lot_applied: row.lot_applied + (lots?.[at] ?? 0n),
          entries: row.entries + added,
          version: row.version + 1n,
          chain: added === 0 ? row.chain : chained(row.chain, links[at]),
          expired_until: latest(row.expired_until, expired[at] ?? null),
        });
      });
      return [];
    },
  },
  {
    text: 'INSERT INTO credit_lot (account_id, kind, amount, remaining, expires_at, granted_at) VALUES ($1, $2, $3, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000)) RETURNING id',
    run: (tx, [account, , given, expires, granted]) => {
      const id = tx.store.nextNumber('credit_lot');
      const amount = BigInt(given as bigint);
      const expiresAt = expires === null ? null : Number(expires);
      tx.put('credit_lot', String(id), {
        id,
        account_id: Number(account),
        amount,
        remaining: amount,
        expires_at: expiresAt,
        granted_at: Number(granted),
      });
      return [{ id: BigInt(id) }];
    },
  },
  {
    text: 'SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now, EXISTS ( SELECT 1 FROM credit_lot WHERE remaining > 0 AND expires_at IS NOT NULL AND expires_at <= coalesce(to_timestamp($1::float8 / 1000), statement_timestamp())) AS is_due',
    run: (tx, [at]) => {
      const now = tx.store.now();
      const until = at === null ? now : Number(at);
      const isDue = [...tx.rows('credit_lot')].some(
        ([, row]) => row.remaining > 0n && row.expires_at !== null && row.expires_at <= until,
      );
      return [{ now, is_due: isDue }];
    },
  },
  {
    text: 'SELECT DISTINCT account_id FROM credit_lot WHERE remaining > 0 AND expires_at IS NOT NULL AND expires_at <= to_timestamp($1::float8 / 1000) AND account_id > $3 ORDER BY account_id LIMIT $2',
    run: (tx, [at, limit, after]) => {
      const due = [...tx.rows('credit_lot')].filter(
        ([, row]) => row.remaining > 0n && row.expires_at !== null && row.expires_at <= Number(at),
      );
      const accounts = due.map(([, row]) => row.account_id).filter((id) => id > Number(after));
      const ids = [...new Set(accounts)].sort((a, b) => a - b);
      return ids.slice(0, Number(limit)).map((id) => ({ account_id: BigInt(id) }));
    },
  },
  {
    text: 'SELECT generation_id AS id, amount FROM ledger WHERE account_id = ANY($1::bigint[]) AND generation_id = ANY($2::uuid[])',
    run: (tx, [accounts, ids]) => {
      const among = new Set(numbersOf(accounts));
      const wanted = new Set(arrayOf(ids).map(String));
      return [...tx.rows('ledger')].flatMap(([, { account_id, generation_id, amount }]) =>
        generation_id !== null && among.has(account_id) && wanted.has(generation_id)
          ? [{ id: dashed(generation_id), amount }]
          : [],
      );
    },
  },
  {
    text: `SELECT ${acts.text} FROM ledger l LEFT JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id WHERE l.account_id = $1 AND idempotency_key = $2`,
    run: (tx, [account, key]) =>
      [...tx.rows('ledger')]
        .map(([, row]) => row)
        .filter((row) => row.account_id === Number(account) && row.idempotency_key === key)
        .map((row) =>
          acts.of(row, {
            id: BigInt(row.id),
            accountId: BigInt(row.account_id),
            generationUuid: row.generation_id === null ? null : dashed(row.generation_id),
            refundOf: row.refund_of === null ? null : dashed(row.refund_of),
            expiresAtMs:
              [...tx.rows('credit_lot')].find(
                ([, lot]) => lot.account_id === row.account_id && lot.id === row.lot_id,
              )?.[1].expires_at ?? null,
          }),
        ),
  },
  {
    text: 'INSERT INTO ledger (account_id, id, kind, amount, lot_id, idempotency_key, memo, refund_of, created_at, record_digest, link_rest) SELECT e.account_id, b.entries - e.link_rest, e.kind, e.amount, e.lot_id, e.idempotency_key, e.memo, e.refund_of::uuid, e.created_at, e.record_digest::bigint, e.link_rest FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[], $10::int[]) e (account_id, kind, amount, lot_id, idempotency_key, memo, refund_of, created_at, record_digest, link_rest) JOIN account_balance b ON b.account_id = e.account_id WHERE b.account_id = ANY($1::bigint[]) RETURNING id',
    run: (tx, values) => {
      const columns = values.map(arrayOf);
      const cell = (column: number, at: number): unknown => columns[column]?.[at] ?? null;
      return (columns[0] ?? []).map((account, at) => {
        const [lot, refundOf, digest] = [cell(3, at), cell(6, at), cell(8, at)];
        const id = putEntry(tx, {
          account_id: Number(account),
          kind: Number(cell(1, at)),
          amount: BigInt(cell(2, at) as bigint),
          generation_id: null,
          key_id: null,
          lot_id: lot === null ? null : Number(lot),
          idempotency_key: textOrNull(cell(4, at)),
          memo: textOrNull(cell(5, at)),
          refund_of: refundOf === null ? null : String(refundOf).replaceAll('-', ''),
          created_at: Number(cell(7, at)),
          record_digest: digest === null ? null : BigInt(String(digest)),
          link_rest: Number(cell(9, at)),
        });
        return { id: BigInt(id) };
      });
    },
  },
  {
    text: 'SELECT a.account_id, a.id FROM unnest($1::bigint[], $2::bigint[]) n (account_id, id) JOIN app a ON a.account_id = n.account_id AND a.id = n.id WHERE a.account_id = ANY($1::bigint[])',
    run: (tx, [accounts, ids]) =>
      numbersOf(accounts).flatMap((account, at) => {
        const id = numbersOf(ids)[at];
        return tx.get('app', `${account}/${id}`) === undefined
          ? []
          : [{ account_id: BigInt(account), id: BigInt(id ?? 0) }];
      }),
  },
  {
    text: 'INSERT INTO app (account_id, id, name, url, first_seen_at) SELECT account_id, id, name, url, at FROM (SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY id) AS nth FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[]) n (account_id, id, name, url, at)) n LEFT JOIN (SELECT account_id, count(*) AS has FROM app WHERE account_id = ANY ($1::bigint[]) GROUP BY 1) h USING (account_id) WHERE nth <= 1000 - coalesce(has, 0) ORDER BY account_id, id ON CONFLICT DO NOTHING',
    locks: (_tx, [accounts, ids]) =>
      numbersOf(accounts)
        .map((account, at) => [account, numbersOf(ids)[at] ?? 0] as const)
        .sort(([a, x], [b, y]) => a - b || x - y)
        .map(([account, id]) => `app ${account}/${id}`),
    run: (tx, [accounts, ids]) => {
      numbersOf(accounts).forEach((account, at) => {
        const id = numbersOf(ids)[at] ?? 0;
        tx.put('app', `${account}/${id}`, { account_id: account, id });
      });
      return [];
    },
  },
  // No month is dropped in these worlds.
  {
    text: 'SELECT from_id, to_id FROM (SELECT month, from_id, to_id FROM pruned_month UNION ALL SELECT month, from_id, to_id FROM pruning_month) m',
    run: () => [],
  },
  {
    ...insertGenerations,
    text: `${insertGenerations.text} ON CONFLICT DO NOTHING RETURNING id`,
  },
  {
    ...insertGenerations,
    run: (tx, values) => {
      const wanted = arrayOf(values[1]).length;
      if (insertGenerations.run(tx, values).length < wanted)
        throw new ServerError('23505', 'generation_pkey');
      return [];
    },
  },
  {
    text: `INSERT INTO account_balance AS a (account_id, balance, usage, entries, version, chain) SELECT account_id, -cost, cost, entries, 1, link FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) d (account_id, cost, entries, link) ORDER BY account_id ON CONFLICT (account_id) DO UPDATE SET balance = a.balance + excluded.balance, usage = a.usage + excluded.usage, entries = a.entries + excluded.entries, version = a.version + 1, chain = sha256(a.chain || excluded.chain) RETURNING ${settledBalances.text}`,
    locks: (_tx, [accounts]) => numbersOf(accounts).map((id) => `balance ${id}`),
    run: (tx, [accounts, costs, counts, links]) => {
      return numbersOf(accounts).map((id, at) => {
        const before = tx.get('account_balance', String(id));
        const row = {
          account_id: id,
          credits: before?.credits ?? 0n,
          usage: (before?.usage ?? 0n) + (amountsOf(costs)[at] ?? 0n),
          lot_applied: before?.lot_applied ?? 0n,
          entries: (before?.entries ?? 0) + (numbersOf(counts)[at] ?? 0),
          version: (before?.version ?? 0n) + 1n,
          expired_until: before?.expired_until ?? null,
          chain:
            before === undefined ? (arrayOf(links)[at] as Buffer) : chained(before.chain, arrayOf(links)[at]),
        };
        putBalance(tx, row);
        return rawBalance(row);
      });
    },
  },
  {
    text: 'INSERT INTO ledger (account_id, id, kind, amount, generation_id, key_id, created_at, record_digest, link_rest) SELECT e.account_id, b.entries - e.link_rest, 3, -e.cost, e.generation_id, e.key_id, e.created_at, e.record_digest, e.link_rest FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::bigint[], $7::int[]) e (account_id, cost, generation_id, key_id, created_at, record_digest, link_rest) JOIN account_balance b ON b.account_id = e.account_id WHERE b.account_id = ANY($1::bigint[])',
    run: (tx, values) => {
      const [accounts, costs, ids, keys, times, digests, rests] = values.map(arrayOf);
      (ids ?? []).forEach((id, at) => {
        putEntry(tx, {
          account_id: Number(accounts?.[at]),
          kind: 3,
          amount: -BigInt(costs?.[at] as bigint),
          generation_id: String(id),
          key_id: Number(keys?.[at]),
          lot_id: null,
          idempotency_key: null,
          memo: null,
          refund_of: null,
          created_at: Number(times?.[at]),
          record_digest: BigInt(digests?.[at] as bigint),
          link_rest: Number(rests?.[at]),
        });
      });
      return [];
    },
  },
  addKeyUsage,
  {
    // Rollups are derived, and not part of the model.
    text: 'INSERT INTO stale_hour (account_id, hour) SELECT * FROM unnest($1::bigint[], $2::timestamptz[])',
    run: () => [],
  },
];
