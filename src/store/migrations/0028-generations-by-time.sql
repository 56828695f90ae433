-- Finds the records of a span of time of all accounts (ids contain their instant) for the console. A block range index costs a
-- settlement next to nothing; records are appended, so that each range of blocks has few ids.
CREATE INDEX generation_by_time ON generation USING brin (id) WITH (autosummarize = on);
