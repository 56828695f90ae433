-- Months whose records were dropped (docs/decisions/retention.md), each a range of ids. month: its first Seoul day.
CREATE TABLE pruned_month (
  month     date PRIMARY KEY,
  from_id   uuid NOT NULL,
  to_id     uuid NOT NULL,
  records   bigint NOT NULL,
  cost      bigint NOT NULL,
  pruned_at timestamptz NOT NULL
);

-- What the dropped records add up to: the books are checked with these sums in their place. billed: records with a cost.
-- model: empty where the records had none.
CREATE TABLE pruned_usage (
  account_id        bigint NOT NULL,
  month             date NOT NULL,
  key_id            bigint NOT NULL,
  app_id            bigint NOT NULL,
  model             text NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL,
  requests          bigint NOT NULL,
  billed            bigint NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (account_id, month, key_id, app_id, model, day)
);
