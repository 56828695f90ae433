-- The ledger of an account is a chain of hashes, and rows of the books are added, never changed (docs/decisions/ledger-chain.md).

-- Entries are numbered by account without gaps: an entry's id is entry_base + its place among the account's entries.
ALTER TABLE ledger ALTER COLUMN id DROP IDENTITY;
-- record_digest: the first 64 bits of the sha256 of the generation or the lot that the entry stands for; null for an entry without one, and
-- for usage from before this step. link_rest: how many entries of the same link follow this one; -1: it is of the first link, which this
-- step made of all entries that were there.
ALTER TABLE ledger ADD COLUMN record_digest bigint, ADD COLUMN link_rest integer NOT NULL DEFAULT -1;
ALTER TABLE ledger ALTER COLUMN link_rest DROP DEFAULT;
-- chain: sha256 of the chain before it and the last link.
ALTER TABLE account_balance ADD COLUMN chain bytea NOT NULL DEFAULT '', ADD COLUMN entry_base bigint NOT NULL DEFAULT 0;

-- The exclusive or of the digests of all records of the key on the day; of those that were dropped their month keeps it.
ALTER TABLE key_usage_day ADD COLUMN records_digest bigint NOT NULL DEFAULT 0;
ALTER TABLE pruned_usage ADD COLUMN records_digest bigint NOT NULL DEFAULT 0;
-- sha256 of the row and of its rows of pruned_usage.
ALTER TABLE pruned_month ADD COLUMN digest bytea NOT NULL DEFAULT '';

-- One row: how many price versions and editions there are, and the chains of their rows.
CREATE TABLE catalogue_head (
  id            smallint PRIMARY KEY,
  prices        bigint NOT NULL,
  price_chain   bytea NOT NULL,
  editions      bigint NOT NULL,
  edition_chain bytea NOT NULL,
  CONSTRAINT there_is_one_head CHECK (id = 1)
);

UPDATE ledger l SET record_digest = ('x' || encode(substring(sha256(convert_to(json_build_array(
    c.account_id, c.id, c.kind, c.amount, (extract(epoch FROM c.expires_at) * 1000000)::bigint, (extract(epoch FROM c.granted_at) * 1000000)::bigint
  )::text, 'UTF8')) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
FROM credit_lot c WHERE c.account_id = l.account_id AND c.id = l.lot_id AND l.amount > 0;

UPDATE account_balance b SET chain = first.link, entry_base = first.last - first.entries
FROM (
  SELECT account_id, max(id) AS last, count(*) AS entries, sha256(string_agg(sha256(convert_to(json_build_array(
      id, account_id, kind, amount, replace(generation_id::text, '-', ''), key_id, lot_id, idempotency_key, memo,
      (extract(epoch FROM created_at) * 1000000)::bigint, replace(refund_of::text, '-', ''), record_digest, link_rest
    )::text, 'UTF8')), ''::bytea ORDER BY id)) AS link
  FROM ledger GROUP BY 1) first
WHERE first.account_id = b.account_id;

UPDATE key_usage_day u SET records_digest = g.digest
FROM (
  SELECT account_id, key_id, day, bit_xor(('x' || encode(substring(sha256(convert_to(json_build_array(
      account_id, replace(id::text, '-', ''), key_id, (extract(epoch FROM created_at) * 1000000)::bigint,
      (extract(epoch FROM settled_at) * 1000000)::bigint, day - date '1970-01-01', status, error_type, model, provider, finish_reason,
      prompt_tokens, completion_tokens, cost, price_version, app_id
    )::text || detail::text, 'UTF8')) FROM 1 FOR 8), 'hex'))::bit(64)::bigint) AS digest
  FROM generation GROUP BY 1, 2, 3) g
WHERE g.account_id = u.account_id AND g.key_id = u.key_id AND g.day = u.day;

UPDATE pruned_month m SET digest = sha256(convert_to(json_build_array(
    month::text, from_id::text, to_id::text, records, cost, (extract(epoch FROM pruned_at) * 1000000)::bigint
  )::text || coalesce((
    SELECT string_agg(json_build_array(
      account_id, key_id, app_id, model, day::text, cost, requests, billed, prompt_tokens, completion_tokens, records_digest
    )::text, '' ORDER BY account_id, key_id, app_id, model, day) FROM pruned_usage u WHERE u.month = m.month), ''), 'UTF8'));
ALTER TABLE pruned_month ALTER COLUMN digest DROP DEFAULT;

INSERT INTO catalogue_head (id, prices, price_chain, editions, edition_chain)
WITH RECURSIVE price AS (
  SELECT row_number() OVER (ORDER BY id) AS nth, convert_to(json_build_array(
      id, model, candidate, prompt, completion, request, cache_read, cache_write, (extract(epoch FROM published_at) * 1000000)::bigint,
      currency, per, stated::text, usd_krw, margin_percent, facts_as_of::text
    )::text, 'UTF8') AS text FROM price_version),
edition AS (
  SELECT row_number() OVER (ORDER BY id) AS nth, convert_to(json_build_array(
      id, offers::text, (extract(epoch FROM published_at) * 1000000)::bigint)::text, 'UTF8') AS text FROM catalogue_edition),
price_link AS (
  SELECT 0::bigint AS nth, ''::bytea AS chain
  UNION ALL SELECT p.nth, sha256(l.chain || p.text) FROM price_link l JOIN price p ON p.nth = l.nth + 1),
edition_link AS (
  SELECT 0::bigint AS nth, ''::bytea AS chain
  UNION ALL SELECT e.nth, sha256(l.chain || e.text) FROM edition_link l JOIN edition e ON e.nth = l.nth + 1)
SELECT 1, p.nth, p.chain, e.nth, e.chain
FROM (SELECT * FROM price_link ORDER BY nth DESC LIMIT 1) p, (SELECT * FROM edition_link ORDER BY nth DESC LIMIT 1) e;

-- The rules that follow hold for the owner of the tables and for a superuser as well.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: rows of the books are added, never changed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalogue_edition EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pruned_month EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pruned_usage EXECUTE FUNCTION refuse_change();
-- Of a lot only the remainder changes; balances and sums change, and stay.
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF account_id, id, kind, amount, expires_at, granted_at ON credit_lot
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON account_balance EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON key_usage_day EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON app_usage_day EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON model_usage_day EXECUTE FUNCTION refuse_change();
-- A month of records goes as a whole, by dropping its partition. A trigger for each row is also that of every partition.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON generation FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON generation EXECUTE FUNCTION refuse_change();

ALTER TABLE ledger ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE price_version ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE catalogue_edition ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE pruned_month ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE pruned_usage ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE credit_lot ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE account_balance ENABLE ALWAYS TRIGGER kept;
ALTER TABLE key_usage_day ENABLE ALWAYS TRIGGER kept;
ALTER TABLE app_usage_day ENABLE ALWAYS TRIGGER kept;
ALTER TABLE model_usage_day ENABLE ALWAYS TRIGGER kept;
ALTER TABLE generation ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE generation ENABLE ALWAYS TRIGGER append_only_truncate;
