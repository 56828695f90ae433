-- Usage by app and by model is rolled up from the records (docs/decisions/rollups.md); a settlement adds to the usage of its key only.
DROP TABLE app_usage_day;
DROP TABLE model_usage_day;
