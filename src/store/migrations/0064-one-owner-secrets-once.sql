-- An account is one person.
DO $$
DECLARE
  shared text := (SELECT string_agg(account_id::text, ', ') FROM (SELECT account_id FROM owner GROUP BY account_id HAVING count(*) > 1) s);
BEGIN
  IF shared IS NOT NULL THEN
    RAISE EXCEPTION 'an account has one owner from this version on, but these have several: %. Before the upgrade, sign in as each owner who leaves and delete the personal data in the settings of the dashboard', shared;
  END IF;
END $$;
CREATE UNIQUE INDEX one_owner_per_account ON owner (account_id);
DROP INDEX owner_account;

-- The response to a change is kept without its secrets, so that it needs no encryption. reply null: still running.
DELETE FROM page_change;
ALTER TABLE page_change DROP COLUMN response, ADD COLUMN reply text;
