-- A limit may be as large as 10^15 won (spec:money/7.3): as micro-won that is beyond a bigint.
ALTER TABLE api_key ALTER COLUMN limit_micro TYPE numeric(22, 0);
