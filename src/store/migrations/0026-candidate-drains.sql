-- What operators drained and resumed: of a candidate whose last change is a drain, no node sends new requests to it. Rows are only added.
-- is_change: false for a request with an idempotency key that found the candidate in that state already.
CREATE TABLE candidate_drain (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model           text NOT NULL,
  candidate       text NOT NULL,
  drained         boolean NOT NULL,
  is_change       boolean NOT NULL,
  reason          text NOT NULL,
  changed_at      timestamptz NOT NULL,
  changed_by      text NOT NULL,
  idempotency_key text UNIQUE
);
CREATE INDEX candidate_drain_latest ON candidate_drain (model, candidate, id) WHERE is_change;
