-- The identity of a generation contains 12 bits of the hash of its account: they lead to the few accounts that may have it,
-- which are in one shard (docs/decisions/generation-ids.md).
CREATE INDEX key_directory_by_lead ON key_directory (((hashint8(account_id) >> 20) & 4095), account_id);
