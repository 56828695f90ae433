-- The transaction of a change. Numbers are given before transactions commit, so an order by id would pass over whoever commits late;
-- what a snapshot has not seen is known by its transaction alone. Old rows would all be of this transaction, and so news to everybody.
DELETE FROM change_event WHERE at < now() - interval '1 hour';
ALTER TABLE change_event ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX change_event_tx ON change_event (tx);
