-- Since when the first request of this node waits for room in the subject, by the database's clock; null: none waits. Room goes to
-- the oldest ticket of all nodes (docs/decisions/spend-shares.md).
ALTER TABLE spend_share ADD COLUMN waits_since timestamptz;
