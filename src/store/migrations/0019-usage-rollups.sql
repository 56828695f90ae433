-- Usage by hour of the settlement, derived from the records (docs/decisions/rollups.md). account_id 0: all accounts together, with
-- key_id and app_id 0. Empty text: the records had none. Histograms are sparse: at is the bucket of a value, n how many values.
CREATE TABLE usage_hour (
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
  PRIMARY KEY (account_id, hour, key_id, app_id, model, provider, status, error_type, finish_reason)
);

-- Every hour before rolled_until is in usage_hour. No row: none is.
CREATE TABLE usage_rollup (
  id           smallint PRIMARY KEY DEFAULT 1,
  rolled_until timestamptz NOT NULL,
  CONSTRAINT usage_rollup_is_one_row CHECK (id = 1)
);

-- Hours in which an account got a record after they had ended: their rollup must be computed again. Rows are only added and deleted,
-- so that a settlement waits for nobody.
CREATE TABLE stale_hour (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  hour       timestamptz NOT NULL
);

-- Finds the accounts that had requests on a day.
CREATE INDEX key_usage_day_by_day ON key_usage_day (day, account_id);
