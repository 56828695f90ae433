-- Settlements that the database refused for their content: their money has not moved. Nothing here can refuse such a row once more, so
-- ids and amounts are not bound to what other tables can hold. record: as the journal had it.
CREATE TABLE quarantined_settlement (
  generation_id  text PRIMARY KEY,
  account_id     numeric NOT NULL,
  key_id         numeric NOT NULL,
  cost           numeric NOT NULL,
  record         bytea NOT NULL,
  reason         text NOT NULL,
  attempts       bigint NOT NULL DEFAULT 1,
  quarantined_at timestamptz NOT NULL DEFAULT now(),
  resolution     text,
  resolved_at    timestamptz,
  note           text,
  CONSTRAINT resolution_is_known CHECK (resolution IN ('settled', 'written off')),
  CONSTRAINT resolution_has_its_time CHECK ((resolution IS NULL) = (resolved_at IS NULL)),
  CONSTRAINT written_off_for_a_reason CHECK (resolution IS DISTINCT FROM 'written off' OR note IS NOT NULL)
);
CREATE INDEX quarantined_settlement_open ON quarantined_settlement (generation_id) WHERE resolution IS NULL;
