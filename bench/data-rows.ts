import type { Client } from 'pg';
import { ensurePartitions } from '../src/generations/partitions.ts';
import type { Database } from '../src/store/database.ts';

/** An account with usage. */
export interface Payer {
  readonly accountId: number;
  readonly keyIds: readonly number[];
}

/** How the rows are spread. */
export interface Load {
  readonly rows: number;
  /** One row in this many is of the first account. */
  readonly firstOf: number;
  /** The others have the same share each of the rest. */
  readonly accounts: readonly Payer[];
  readonly priceVersion: number;
  readonly nowMs: number;
  /** Over how many days the rows are spread. */
  readonly days: number;
  readonly models: number;
}

const dayMs = 86_400_000;
const chunk = 250_000;
/** Apps of the first account, and of each other. */
const appsOfFirst = 20;
const appsOfOthers = 6;

/**
 * Creates accounts with two keys each, beside those that the operator created; a thousand take
 * a second.
 */
export async function createPayers(client: Client, count: number): Promise<readonly Payer[]> {
  const { rows } = await client.query<{ account_id: bigint; key_ids: bigint[] }>(
    `WITH made AS (
       INSERT INTO account (name, created_at) SELECT 'account ' || n, now() FROM generate_series(1, $1::int) n RETURNING id
     ), balance AS (INSERT INTO account_balance (account_id) SELECT id FROM made),
     keys AS (
       INSERT INTO api_key (hash, account_id, kind, name, label, created_at)
       SELECT sha256(convert_to(id || '/' || n, 'UTF8')), id, 1, 'key ' || n, 'sk-naru-v1-…' || n, now() FROM made, generate_series(1, 2) n
       RETURNING account_id, id, hash
     ), directory AS (INSERT INTO key_directory (hash, key_id, account_id) SELECT hash, id, account_id FROM keys)
     SELECT account_id, array_agg(id) AS key_ids FROM keys GROUP BY 1 ORDER BY 1`,
    [count],
  );
  return rows.map((row) => ({ accountId: Number(row.account_id), keyIds: row.key_ids.map(Number) }));
}

/** Makes the table of accounts from which the rows take theirs, and their apps. */
export async function loadPayers(client: Client, { accounts }: Load): Promise<void> {
  await client.query('SET synchronous_commit = off');
  await client.query(
    'CREATE TEMP TABLE payer (n int PRIMARY KEY, account_id bigint, key_ids bigint[], apps int)',
  );
  await client.query(
    'INSERT INTO payer SELECT (p->>0)::int, (p->>1)::bigint, ARRAY(SELECT jsonb_array_elements_text(p->2)::bigint), (p->>3)::int FROM jsonb_array_elements($1::jsonb) p',
    [
      JSON.stringify(
        accounts.map(({ accountId, keyIds }, n) => [
          n,
          accountId,
          keyIds,
          n === 0 ? appsOfFirst : appsOfOthers,
        ]),
      ),
    ],
  );
  await client.query(
    `INSERT INTO app (account_id, id, name, url, first_seen_at)
     SELECT p.account_id, 281474976710000 + a, 'App ' || a, 'https://app-' || a || '.example', now() FROM payer p, generate_series(0, p.apps - 1) a`,
  );
}

/**
 * Fills the database with settled generations, their usage entries and the usage by day, which agree
 * with one another. Prints progress; returns how long it took.
 */
export async function loadGenerations(
  database: Database,
  client: Client,
  load: Load,
  progress: (done: number) => void,
): Promise<number> {
  const beganMs = performance.now();
  const startMs = load.nowMs - load.days * dayMs;
  for (let at = startMs; at <= load.nowMs; at += dayMs) await ensurePartitions(database, at);
  for (let done = 0; done < load.rows; done += chunk) {
    await client.query(insertRows, [
      done,
      Math.min(load.rows, done + chunk) - 1,
      startMs,
      (load.days * dayMs - 60_000) / load.rows,
      load.accounts.length - 1,
      load.priceVersion,
      load.firstOf,
      load.models,
    ]);
    progress(Math.min(load.rows, done + chunk));
  }
  await client.query(insertDays);
  await client.query(
    `UPDATE account_balance b SET usage = b.usage + d.cost, balance = b.balance - d.cost, entries = b.entries + d.entries
     FROM (SELECT account_id, sum(cost) AS cost, count(*) FILTER (WHERE cost > 0) AS entries FROM generation GROUP BY 1) d
     WHERE d.account_id = b.account_id`,
  );
  await client.query('VACUUM ANALYZE');
  return performance.now() - beganMs;
}

/** From number $1 to $2; the first instant, milliseconds between two, the number of the last payer, the price, one row in how many is of the first payer, and how many models there are. */
const insertRows = `
WITH made AS (
  SELECT s.n, p.account_id, p.key_ids[1 + h % p.apps % cardinality(p.key_ids)] AS key_id, h % p.apps AS app,
    ($3::float8 + s.n * $4::float8)::bigint AS created_ms, h % 100 < 3 AS is_failed, 100 + h % 3000 AS prompt, 20 + h % 700 AS completion,
    (h / 7) % $8::int AS model, (h / 7 + h / 3001 % 2) % 5 AS provider, 80 + (h % 1000) * (h % 7) AS first_ms
  FROM (SELECT n, abs(hashint8(n)::bigint) AS h FROM generate_series($1::bigint, $2::bigint) n) s
  JOIN payer p ON p.n = CASE WHEN s.n % $7::int = 0 THEN 0 ELSE 1 + s.h % greatest($5::int, 1) END
), stored AS (
  INSERT INTO generation (account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason,
    prompt_tokens, completion_tokens, cost, price_version, detail, app_id)
  SELECT account_id, (lpad(to_hex(created_ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
    key_id, to_timestamp(created_ms / 1000.0), settled_at, (settled_at AT TIME ZONE 'Asia/Seoul')::date,
    CASE WHEN is_failed THEN 502 ELSE 200 END, CASE WHEN is_failed THEN 'provider_error' END,
    CASE WHEN NOT is_failed THEN 'vendor/model-' || model END, 'provider-' || provider, CASE WHEN NOT is_failed THEN 'stop' END,
    CASE WHEN is_failed THEN 0 ELSE prompt END, CASE WHEN is_failed THEN 0 ELSE completion END,
    CASE WHEN is_failed THEN 0 ELSE prompt * 1000 + completion * 3000 END, CASE WHEN NOT is_failed THEN $6::bigint END,
    jsonb_build_object('request_id', 'req_' || md5(n::text), 'api_type', 'completions', 'endpoint', 'chat', 'streamed', true,
      'requested_models', json_build_array('vendor/model-' || model), 'user_agent', 'OpenAI/JS 7.55.0',
      'attempts', json_build_array(json_build_object('provider_name', 'provider-' || provider, 'model_permaslug', 'model-' || model,
        'endpoint_id', 'provider-' || provider || '/model-' || model, 'status', 200, 'latency', first_ms, 'is_byok', false)),
      'upstream_id', 'chatcmpl-' || md5(n::text), 'latency_ms', first_ms, 'generation_ms', first_ms + completion * 12,
      'cache_read_tokens', prompt / 4, 'reasoning_tokens', completion / 5), 281474976710000 + app
  FROM (SELECT *, to_timestamp((created_ms + first_ms + completion * 12) / 1000.0) AS settled_at FROM made) m
  RETURNING account_id, id, key_id, settled_at, cost
)
INSERT INTO ledger (account_id, id, kind, amount, generation_id, key_id, created_at, record_digest, link_rest)
SELECT account_id, 1000 + $1::bigint + row_number() OVER (ORDER BY id), 3, -cost, id, key_id, settled_at, 0, 0 FROM stored WHERE cost > 0`;

const insertDays = `
INSERT INTO key_usage_day (account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens)
SELECT account_id, key_id, day, sum(cost), count(*), sum(prompt_tokens), sum(completion_tokens) FROM generation GROUP BY 1, 2, 3`;
