-- The identity of these books. A journal names the database that it is to be settled in (docs/decisions/node-identity.md).
CREATE TABLE database_identity (
  only_row boolean PRIMARY KEY DEFAULT true,
  id       uuid NOT NULL DEFAULT gen_random_uuid(),
  CONSTRAINT database_has_one_identity CHECK (only_row)
);
INSERT INTO database_identity DEFAULT VALUES;

-- One process at a time has the identity of a data directory (home). session: which one; process: where it runs, so that the next one
-- can find out whether it is dead. keeps_charges: its journal may hold charges that clients saw and the database does not have.
DELETE FROM gateway_node n WHERE EXISTS (SELECT 1 FROM gateway_node later WHERE later.home = n.home AND later.id > n.id);
ALTER TABLE gateway_node
  ADD COLUMN session       uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN process       text NOT NULL DEFAULT '',
  ADD COLUMN keeps_charges boolean NOT NULL DEFAULT true;
DROP INDEX gateway_node_home;
CREATE UNIQUE INDEX gateway_node_home ON gateway_node (home);

-- Lost nodes that were taken out of the list by a person, and why: their journal was recovered, or was written off.
CREATE TABLE closed_node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  home       uuid NOT NULL,
  address    text NOT NULL,
  seen_at    timestamptz NOT NULL,
  closed_at  timestamptz NOT NULL DEFAULT now(),
  closure    text NOT NULL,
  reason     text,
  CONSTRAINT closure_is_known CHECK (closure IN ('recovered', 'written off')),
  CONSTRAINT write_off_has_a_reason CHECK (closure <> 'written off' OR reason IS NOT NULL)
);
