-- Months whose records are being dropped shard by shard (docs/decisions/retention.md). A month moves to pruned_month
-- when no shard has its records any more; until then some shards have the records, and the others their sums.
CREATE TABLE pruning_month (
  month   date PRIMARY KEY,
  from_id uuid NOT NULL,
  to_id   uuid NOT NULL
);
