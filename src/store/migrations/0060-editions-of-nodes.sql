-- Which published edition a node serves, and how many of its prices its configuration states otherwise (docs/decisions/publishing-prices.md).
-- Null: it did not report any yet.
ALTER TABLE gateway_node ADD COLUMN edition bigint, ADD COLUMN differences integer;
