-- An operator suspends an account: all its keys are rejected as suspended, those that its owners create later included.
ALTER TABLE account ADD COLUMN suspended_at timestamptz, ADD COLUMN suspend_reason text;

-- What operators tell account owners on every page of the dashboard. An announcement that was taken back keeps its row.
CREATE TABLE announcement (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  level      text NOT NULL,
  text_ko    text NOT NULL,
  text_en    text NOT NULL,
  from_at    timestamptz NOT NULL,
  to_at      timestamptz,   -- the first instant at which it is not shown any more; null: until it is taken back
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  CONSTRAINT announcement_level_is_known CHECK (level IN ('info', 'warning', 'critical')),
  CONSTRAINT announcement_text_is_bounded CHECK (char_length(text_ko) BETWEEN 1 AND 500 AND char_length(text_en) BETWEEN 1 AND 500),
  CONSTRAINT announcement_ends_after_its_start CHECK (to_at > from_at)
);
CREATE INDEX announcement_end ON announcement (to_at);
