-- An account owner asks for a top-up; an operator confirms it, with exactly one ledger entry, or rejects it.
CREATE TABLE topup_request (
  account_id     bigint NOT NULL,
  id             bigint GENERATED ALWAYS AS IDENTITY,
  amount         bigint NOT NULL,
  state          text NOT NULL DEFAULT 'pending',
  depositor      text,
  note           text,
  requested_at   timestamptz NOT NULL,
  decided_at     timestamptz,
  decided_by     text,
  reason         text,
  bank_reference text,
  entry_id       bigint,
  PRIMARY KEY (account_id, id),
  CONSTRAINT topup_amount_is_positive CHECK (amount > 0),
  CONSTRAINT topup_state_is_known CHECK (state IN ('pending', 'confirmed', 'rejected', 'withdrawn')),
  CONSTRAINT topup_is_decided_once CHECK ((state = 'pending') = (decided_at IS NULL)),
  CONSTRAINT topup_entry_follows_state CHECK ((state = 'confirmed') = (entry_id IS NOT NULL))
);
CREATE UNIQUE INDEX topup_request_id ON topup_request (id);
CREATE INDEX topup_request_pending ON topup_request (requested_at, id) WHERE state = 'pending';
-- One transfer pays one request.
CREATE UNIQUE INDEX topup_request_bank_reference ON topup_request (bank_reference) WHERE bank_reference IS NOT NULL;
