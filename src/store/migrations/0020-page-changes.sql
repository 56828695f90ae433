-- The changes that the pages made, by idempotency key, kept for a day. Neither the key nor the response can be read here: key_hash is
-- sha256 of the key, and the response is encrypted with a key that is derived from it. response null: still running.
CREATE TABLE page_change (
  scope       text NOT NULL,
  key_hash    bytea NOT NULL,
  fingerprint bytea NOT NULL,
  response    bytea,
  started_at  timestamptz NOT NULL,
  PRIMARY KEY (scope, key_hash)
);
CREATE INDEX page_change_age ON page_change (started_at);

-- The few entries of an account that are no usage: its transactions are these, and its usage by day.
CREATE INDEX ledger_not_usage ON ledger (account_id, id) WHERE kind <> 3;
