-- A backup asks every node to bring into the database what it has settled, and waits for the answers (docs/decisions/backup.md).
-- Nodes are known by the name of their data directory: one that was taken for lost comes back with another number.
CREATE TABLE flush_request (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  asked_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE flush_answer (
  request_id  bigint NOT NULL,
  home        uuid NOT NULL,
  answered_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (request_id, home)
);

-- Usage that comes after the credit it was made with has expired takes the expiry back: an entry of kind 4 with an amount above zero.
ALTER TABLE ledger DROP CONSTRAINT entry_sign_follows_kind;
ALTER TABLE ledger ADD CONSTRAINT entry_sign_follows_kind CHECK (kind IN (4, 6) OR (kind IN (1, 2, 5)) = (amount > 0));
CREATE INDEX ledger_expiry ON ledger (account_id, lot_id) WHERE kind = 4;
-- The last instant at which credit of the account expired: only usage from before it can be late.
ALTER TABLE account_balance ADD COLUMN expired_until timestamptz;
UPDATE account_balance b SET expired_until = e.expires_at
FROM (SELECT l.account_id, max(c.expires_at) AS expires_at FROM ledger l JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
      WHERE l.kind = 4 GROUP BY 1) e
WHERE e.account_id = b.account_id;
