-- Refused settlements are numbered without gaps, and their hashes are a chain: a row that was removed is found (docs/decisions/ledger-chain.md).
ALTER TABLE quarantined_settlement ADD COLUMN number bigint;
UPDATE quarantined_settlement q SET number = n.nth
FROM (SELECT generation_id, row_number() OVER (ORDER BY quarantined_at, generation_id) AS nth FROM quarantined_settlement) n
WHERE n.generation_id = q.generation_id;
ALTER TABLE quarantined_settlement ALTER COLUMN number SET NOT NULL;

-- One row: how many settlements were ever refused, and the chain of their rows.
CREATE TABLE quarantine_head (
  id      smallint PRIMARY KEY,
  refused bigint NOT NULL,
  chain   bytea NOT NULL,
  CONSTRAINT there_is_one_quarantine_head CHECK (id = 1)
);

INSERT INTO quarantine_head (id, refused, chain)
WITH RECURSIVE refused AS (
  SELECT number AS nth, convert_to(json_build_array(
      number, generation_id, account_id::text, key_id::text, cost::text, encode(sha256(record), 'hex'),
      (extract(epoch FROM quarantined_at) * 1000000)::bigint
    )::text, 'UTF8') AS text FROM quarantined_settlement),
link AS (
  SELECT 0::bigint AS nth, ''::bytea AS chain
  UNION ALL SELECT r.nth, sha256(l.chain || r.text) FROM link l JOIN refused r ON r.nth = l.nth + 1)
SELECT 1, nth, chain FROM link ORDER BY nth DESC LIMIT 1;

-- A decision is noted in the row; the row itself stays.
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF number, generation_id, account_id, key_id, cost, record, quarantined_at
  ON quarantined_settlement EXECUTE FUNCTION refuse_change();
ALTER TABLE quarantined_settlement ENABLE ALWAYS TRIGGER append_only;
