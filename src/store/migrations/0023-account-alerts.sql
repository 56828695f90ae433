-- From when the pages of an account warn of its balance. Without a row the default of the program applies.
CREATE TABLE account_alert (
  account_id    bigint PRIMARY KEY,
  low_balance   bigint,
  min_days_left integer,
  updated_at    timestamptz NOT NULL,
  CONSTRAINT account_alert_balance_is_positive CHECK (low_balance > 0),
  CONSTRAINT account_alert_days_are_bounded CHECK (min_days_left BETWEEN 1 AND 365)
);
