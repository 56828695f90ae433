-- An account has a day of usage_day twice: by key and app, and without them (key_id 0, app_id 0), of which percentiles over many days
-- read a fraction (docs/decisions/rollups.md). The job sums the days again; until then their hours are read.
DELETE FROM usage_day WHERE account_id > 0;
UPDATE usage_day_check SET is_due = true;
