-- The gateways that serve from this database. seen_at is the database's own time, so that the clocks of nodes do not matter.
CREATE TABLE gateway_node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  home       uuid NOT NULL,             -- names the data directory: of two nodes of one home, the earlier is dead
  address    text NOT NULL,             -- where it serves, for people
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at    timestamptz NOT NULL DEFAULT now(),
  knows      bigint NOT NULL DEFAULT 0  -- it reckons with every node up to this id
);
CREATE INDEX gateway_node_home ON gateway_node (home);

-- What a node may spend of an account (kind 1) or below a key's limit (kind 2) without asking: the shares of all nodes together
-- are never more than what is left. Empty while one node serves alone.
CREATE TABLE spend_share (
  kind    smallint NOT NULL,
  subject bigint NOT NULL,
  node_id bigint NOT NULL,
  amount  bigint NOT NULL,
  PRIMARY KEY (kind, subject, node_id),
  CONSTRAINT share_is_not_negative CHECK (amount >= 0)
) WITH (fillfactor = 50);
CREATE INDEX spend_share_node ON spend_share (node_id);
