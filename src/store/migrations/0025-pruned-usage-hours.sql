-- What the records of a dropped month add up to by hour, with the columns of usage_hour: hours are rolled up from the records that are
-- left and from these rows (docs/decisions/rollups.md). month: the month that the records were created in, as in pruned_month.
CREATE TABLE pruned_usage_hour (
  month             date NOT NULL,
  account_id        bigint NOT NULL,
  hour              timestamptz NOT NULL,
  key_id            bigint NOT NULL,
  app_id            bigint NOT NULL,
  model             text NOT NULL,
  provider          text NOT NULL,
  status            smallint NOT NULL,
  error_type        text NOT NULL,
  finish_reason     text NOT NULL,
  requests          bigint NOT NULL,
  cost              bigint NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  reasoning_tokens  bigint NOT NULL,
  cached_tokens     bigint NOT NULL,
  ttft_at           smallint[] NOT NULL,
  ttft_n            bigint[] NOT NULL,
  duration_at       smallint[] NOT NULL,
  duration_n        bigint[] NOT NULL,
  speed_at          smallint[] NOT NULL,
  speed_n           bigint[] NOT NULL,
  PRIMARY KEY (hour, account_id, month, key_id, app_id, model, provider, status, error_type, finish_reason)
);

-- An hour is replaced as a whole, whoever used it.
CREATE INDEX usage_hour_by_hour ON usage_hour (hour);

-- Requests whose hour of settlement does not follow from their id: those of a process that was recovered later, and very long ones.
CREATE INDEX generation_settled_apart ON generation (account_id, settled_at)
  WHERE settled_at - created_at NOT BETWEEN interval '-01:00:00' AND interval '01:00:00';
