-- Days of usage_day and hours of all accounts are also summed by one dimension each (key_id below 0, docs/decisions/rollups.md). The
-- job sums the days again; until then, and for the hours, the rows with all dimensions are read.
UPDATE usage_day_check SET is_due = true;
