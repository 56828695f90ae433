-- kind: 1 topup, 2 bonus, 3 usage, 4 expiry, 5 refund, 6 adjustment. A refund names the generation whose cost it gives back; the entry
-- of the generation itself stays as it is. Whoever refunds or adjusts says why.
ALTER TABLE ledger ADD COLUMN refund_of uuid;
ALTER TABLE ledger DROP CONSTRAINT entry_sign_follows_kind;
ALTER TABLE ledger ADD CONSTRAINT entry_sign_follows_kind CHECK (kind = 6 OR (kind IN (1, 2, 5)) = (amount > 0));
ALTER TABLE ledger ADD CONSTRAINT refund_names_its_generation CHECK ((kind = 5) = (refund_of IS NOT NULL));
ALTER TABLE ledger ADD CONSTRAINT correction_has_a_reason CHECK (kind NOT IN (5, 6) OR memo <> '');
CREATE INDEX ledger_refund_of ON ledger (account_id, refund_of) WHERE refund_of IS NOT NULL;
