-- Every table of accounts has account_id first in its primary key, so that an engine can distribute it by account.

-- Where a key is: found by its hash or its id without its account. It is read when a process sees a key for the first time.
CREATE TABLE key_directory (
  hash       bytea PRIMARY KEY,
  key_id     bigint NOT NULL UNIQUE,
  account_id bigint NOT NULL
);
INSERT INTO key_directory (hash, key_id, account_id) SELECT hash, id, account_id FROM api_key;

-- The directory keeps hashes and ids unique: a constraint of a distributed table must contain the account.
ALTER TABLE api_key DROP CONSTRAINT api_key_pkey, DROP CONSTRAINT api_key_hash_key, ADD PRIMARY KEY (account_id, id);
DROP INDEX api_key_account;
CREATE INDEX api_key_by_id ON api_key (id);

-- The leases of keys get the account of the key. One of a key that does not exist is of no use.
ALTER TABLE spend_share ADD COLUMN account_id bigint;
UPDATE spend_share SET account_id = subject WHERE kind = 1;
UPDATE spend_share s SET account_id = d.account_id FROM key_directory d WHERE s.kind = 2 AND d.key_id = s.subject;
DELETE FROM spend_share WHERE account_id IS NULL;
ALTER TABLE spend_share ALTER COLUMN account_id SET NOT NULL, DROP CONSTRAINT spend_share_pkey,
  ADD PRIMARY KEY (account_id, kind, subject, node_id);

ALTER TABLE stale_hour DROP CONSTRAINT stale_hour_pkey, ADD PRIMARY KEY (account_id, id);
CREATE INDEX stale_hour_by_id ON stale_hour (id);
