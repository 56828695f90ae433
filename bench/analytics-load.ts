import type { Client } from 'pg';
import { ensurePartitions } from '../src/generations/partitions.ts';
import type { Database } from '../src/store/database.ts';

/** How the rows are spread. */
export interface Load {
  readonly rows: number;
  /** One row in this many is of the first account. */
  readonly firstOf: number;
  /** The others have the same share each of the rest. */
  readonly accounts: readonly { readonly accountId: number; readonly keyIds: readonly number[] }[];
  readonly priceVersion: number;
  readonly nowMs: number;
}

const dayMs = 86_400_000;
/** Over how many days the rows are spread. */
export const loadedDays = 30;
const chunk = 250_000;

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
  const startMs = load.nowMs - loadedDays * dayMs;
  for (let at = startMs; at <= load.nowMs; at += dayMs) await ensurePartitions(database, at);
  await client.query('SET synchronous_commit = off');
  await client.query(
    'CREATE TEMP TABLE payer AS SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) p (n, account_id, first_key, second_key)',
    [
      load.accounts.map((_, n) => n),
      load.accounts.map(({ accountId }) => accountId),
      load.accounts.map(({ keyIds }) => keyIds[0]),
      load.accounts.map(({ keyIds }) => keyIds[1]),
    ],
  );
  await client.query('CREATE UNIQUE INDEX ON payer (n)');
  await client.query(
    "INSERT INTO app (account_id, id, name, url, first_seen_at) SELECT p.account_id, 281474976710000 + a, 'App ' || a, 'https://app-' || a || '.example', now() FROM payer p, generate_series(0, 5) a",
  );
  for (let done = 0; done < load.rows; done += chunk) {
    await client.query(insertRows, [
      done,
      Math.min(load.rows, done + chunk) - 1,
      startMs,
      (loadedDays * dayMs - 60_000) / load.rows,
      load.accounts.length - 1,
      load.priceVersion,
      load.firstOf,
    ]);
    progress(Math.min(load.rows, done + chunk));
  }
  await client.query(insertDays('key_usage_day', 'key_id', 'key_id'));
  await client.query(insertDays('app_usage_day', 'app_id', 'app_id'));
  await client.query(insertDays('model_usage_day', 'model', 'model'));
  await client.query(
    `UPDATE account_balance b SET usage = b.usage + d.cost, balance = b.balance - d.cost, entries = b.entries + d.entries
     FROM (SELECT account_id, sum(cost) AS cost, count(*) FILTER (WHERE cost > 0) AS entries FROM generation GROUP BY 1) d
     WHERE d.account_id = b.account_id`,
  );
  await client.query('VACUUM ANALYZE');
  return performance.now() - beganMs;
}

/** From number $1 to $2; the first instant, milliseconds between two, the number of the last payer, the price, and one row in how many is of the first payer. */
const insertRows = `
WITH made AS (
  SELECT s.n, p.account_id, CASE WHEN h % 3 = 0 THEN p.second_key ELSE p.first_key END AS key_id,
    ($3::float8 + s.n * $4::float8)::bigint AS created_ms, h, h % 100 < 3 AS is_failed, 100 + h % 3000 AS prompt, 20 + h % 700 AS completion,
    (h / 7) % 8 AS model, 80 + (h % 1000) * (h % 7) AS first_ms
  FROM (SELECT n, abs(hashint8(n)::bigint) AS h FROM generate_series($1::bigint, $2::bigint) n) s
  JOIN payer p ON p.n = CASE WHEN s.n % $7::int = 0 THEN 0 ELSE 1 + s.h % $5::int END
), stored AS (
  INSERT INTO generation (account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason,
    prompt_tokens, completion_tokens, cost, price_version, detail, app_id)
  SELECT account_id, (lpad(to_hex(created_ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
    key_id, to_timestamp(created_ms / 1000.0), settled_at, (settled_at AT TIME ZONE 'Asia/Seoul')::date,
    CASE WHEN is_failed THEN 502 ELSE 200 END, CASE WHEN is_failed THEN 'provider_error' END,
    CASE WHEN NOT is_failed THEN 'vendor/model-' || model END, 'provider-' || model % 3, CASE WHEN NOT is_failed THEN 'stop' END,
    CASE WHEN is_failed THEN 0 ELSE prompt END, CASE WHEN is_failed THEN 0 ELSE completion END,
    CASE WHEN is_failed THEN 0 ELSE prompt * 1000 + completion * 3000 END, CASE WHEN NOT is_failed THEN $6::bigint END,
    json_build_object('request_id', 'req_' || md5(n::text), 'api_type', 'completions', 'endpoint', 'chat', 'streamed', true,
      'requested_models', json_build_array('vendor/model-' || model), 'user_agent', 'OpenAI/JS 7.55.0',
      'attempts', json_build_array(json_build_object('provider_name', 'provider-' || model % 3, 'model_permaslug', 'model-' || model,
        'endpoint_id', 'provider-' || model % 3 || '/model-' || model, 'status', 200, 'latency', first_ms, 'is_byok', false)),
      'upstream_id', 'chatcmpl-' || md5(n::text), 'latency_ms', first_ms, 'generation_ms', first_ms + completion * 12,
      'cache_read_tokens', prompt / 4, 'reasoning_tokens', completion / 5), 281474976710000 + h % 6
  FROM (SELECT *, to_timestamp((created_ms + first_ms + completion * 12) / 1000.0) AS settled_at FROM made) m
  RETURNING account_id, id, key_id, settled_at, cost
)
INSERT INTO ledger (account_id, id, kind, amount, generation_id, key_id, created_at, record_digest, link_rest)
SELECT account_id, 1000 + $1::bigint + row_number() OVER (ORDER BY id), 3, -cost, id, key_id, settled_at, 0, 0 FROM stored WHERE cost > 0`;

function insertDays(table: string, column: string, value: string): string {
  return `INSERT INTO ${table} (account_id, ${column}, day, cost, requests, prompt_tokens, completion_tokens)
    SELECT account_id, ${value}, day, sum(cost), count(*), sum(prompt_tokens), sum(completion_tokens) FROM generation
    WHERE ${value} IS NOT NULL GROUP BY 1, 2, 3`;
}
