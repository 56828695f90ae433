-- Usage by Seoul day, summed from usage_hour, with its columns (docs/decisions/rollups.md). A day of an account is here as a whole or
-- not at all, and equals its hours: what replaces an hour deletes its day in the same transaction.
CREATE TABLE usage_day (
  account_id        bigint NOT NULL,
  day               date NOT NULL,
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
  PRIMARY KEY (account_id, day, key_id, app_id, model, provider, status, error_type, finish_reason)
);
CREATE INDEX usage_day_by_day ON usage_day (day);

-- The days that have hours. is_due: an hour changed since the day was checked and summed. checked_at: when it was compared last.
CREATE TABLE usage_day_check (
  day        date PRIMARY KEY,
  is_due     boolean NOT NULL,
  checked_at timestamptz NOT NULL
);
INSERT INTO usage_day_check (day, is_due, checked_at) SELECT DISTINCT day, true, '-infinity'::timestamptz FROM key_usage_day;
