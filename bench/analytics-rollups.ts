import type { Client } from 'pg';
import { cutsOfHours, rolledColumns } from '../src/analytics/rolled-rows-sql.ts';
import type { Load } from './analytics-load.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Rollups that are made without records. */
export interface MadeRollups extends Pick<Load, 'models' | 'nowMs' | 'days'> {
  /** Generations of all accounts but the first. */
  readonly rows: number;
  readonly accounts: number;
  readonly firstAccountId: number;
}

/**
 * Writes the hours of every account but the first, and the hours of all accounts together, as this
 * many generations would make them, in place of the records: those of ten million fit neither the
 * disk nor the time of a bench. A small account has nearly a row for each request.
 */
export async function makeRollups(
  client: Client,
  made: MadeRollups,
  progress: (done: number) => void,
): Promise<void> {
  // These accounts have no records, from which the current hour would be read.
  const untilMs = Math.floor(made.nowMs / hourMs) * hourMs - hourMs;
  const hours = made.days * 24;
  const perHour = made.rows / made.accounts / hours;
  await client.query(
    "SET work_mem = '256MB'; SET maintenance_work_mem = '1GB'; ALTER TABLE usage_hour DROP CONSTRAINT usage_hour_pkey; DROP INDEX usage_hour_by_hour; CREATE INDEX made_of_account_0 ON usage_hour (account_id, hour)",
  );
  await client.query('DELETE FROM usage_hour WHERE account_id = 0; DROP INDEX made_of_account_0');
  for (let day = 0; day < made.days; day += 1) {
    const toMs = untilMs - (made.days - 1 - day) * dayMs;
    const span = [new Date(toMs - dayMs).toISOString(), new Date(toMs).toISOString()];
    await client.query(insertHours, [...span, perHour, made.models]);
    await client.query(insertTotals, [...span, (made.rows / hours) * 1.1, made.models]);
    await client.query(
      `WITH ${cutsOfHours.ctes} INSERT INTO usage_hour (${rolledColumns}) ${cutsOfHours.select}`,
      span,
    );
    progress(Math.round((made.rows / made.days) * (day + 1)));
  }
  await client.query(
    'ALTER TABLE usage_hour ADD PRIMARY KEY (account_id, hour, key_id, app_id, model, provider, status, error_type, finish_reason); CREATE INDEX usage_hour_by_hour ON usage_hour (hour)',
  );
  await client.query(
    `INSERT INTO key_usage_day (account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens)
     SELECT account_id, key_id, (hour AT TIME ZONE 'Asia/Seoul')::date, sum(cost), sum(requests), sum(prompt_tokens), sum(completion_tokens)
     FROM usage_hour WHERE account_id NOT IN (0, $1) GROUP BY 1, 2, 3`,
    [made.firstAccountId],
  );
  await client.query(
    `UPDATE account_balance b SET usage = b.usage + d.cost, balance = b.balance - d.cost
     FROM (SELECT account_id, sum(cost) AS cost FROM key_usage_day WHERE account_id <> $1 GROUP BY 1) d WHERE d.account_id = b.account_id`,
    [made.firstAccountId],
  );
  await client.query(
    "INSERT INTO usage_day_check SELECT DISTINCT day, true, '-infinity'::timestamptz FROM key_usage_day ON CONFLICT (day) DO UPDATE SET is_due = true",
  );
  await client.query('VACUUM ANALYZE');
}

/** Hours from $1 to $2, requests of an account in an hour, models. */
const insertHours = `
INSERT INTO usage_hour
SELECT account_id, hour, key_ids[1 + (h + k) % 2], 281474976710000 + (h + k) % apps, 'vendor/model-' || (h / 8 + k) % $4::int,
  'provider-' || (h / 64) % 5, CASE WHEN is_failed THEN 502 ELSE 200 END, CASE WHEN is_failed THEN 'provider_error' ELSE '' END,
  CASE WHEN is_failed THEN '' ELSE 'stop' END, 1, CASE WHEN is_failed THEN 0 ELSE prompt * 1000 END, prompt, prompt / 4, prompt / 20, prompt / 4,
  ARRAY[40 + h % 40]::smallint[], '{1}'::bigint[], ARRAY[60 + h % 40]::smallint[], '{1}'::bigint[], ARRAY[20 + h % 30]::smallint[], '{1}'::bigint[]
FROM (
  SELECT p.*, hour, k, h, (h + k) % 33 = 0 AS is_failed, 100 + h % 3000 AS prompt
  FROM generate_series($1::timestamptz, $2::timestamptz - interval '1 hour', interval '1 hour') hour, payer p,
    LATERAL (SELECT abs(hashint8(p.n * 1000000 + extract(epoch FROM hour)::bigint / 3600)::bigint) AS h) x,
    LATERAL generate_series(1, floor($3::float8 + (x.h % 100) / 100.0)::int) k
  WHERE p.n > 0
) r`;

/** The same of all accounts: a row for each combination of model, provider and outcome, $3 requests in an hour. */
const insertTotals = `
INSERT INTO usage_hour
SELECT 0, hour, 0, 0, 'vendor/model-' || model, 'provider-' || (model + other) % 5, status, CASE status WHEN 200 THEN '' ELSE 'provider_error' END,
  CASE status WHEN 200 THEN 'stop' ELSE '' END, n, n * 4000000, n * 1600, n * 400, n * 80, n * 400,
  at.ttft, counts, at.duration, counts, at.speed, counts
FROM generate_series($1::timestamptz, $2::timestamptz - interval '1 hour', interval '1 hour') hour, generate_series(0, $4::int - 1) model,
  generate_series(0, 1) other, (VALUES (200, 0.97), (502, 0.03)) o (status, share),
  LATERAL (SELECT ceil($3::float8 * share / $4::int / 2)::int AS n) r,
  LATERAL (SELECT array_agg(40 + b ORDER BY b)::smallint[] AS ttft, array_agg(60 + b ORDER BY b)::smallint[] AS duration,
             array_agg(20 + b ORDER BY b)::smallint[] AS speed, array_agg(1 + n / 40 + 0 * b)::bigint[] AS counts
           FROM generate_series(0, least(40, n) - 1) b) at`;
