-- Every backup by the schedule and every drill of a restore. It is about this installation, so no backup contains it.
-- ended_at null: it runs, or its process ended. error null: it succeeded.
CREATE TABLE backup_run (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('backup', 'drill')),
  place      text NOT NULL,
  backup     text NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at   timestamptz,
  bytes      bigint,
  rows       bigint,
  error      text,
  CHECK (error IS NULL OR ended_at IS NOT NULL)
);
