-- The schema of the first release. Money is bigint micro-won everywhere. Every table of accounts has account_id in each of its unique
-- indexes, and first in its primary key, so that an engine can distribute it by account. A migration that follows takes the next number,
-- and only adds. Backups read the comments on tables (src/store/snapshot.ts).

CREATE TABLE account (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text NOT NULL,
  email          text,
  business_number text,  -- of a Korean company: ten digits
  created_at     timestamptz NOT NULL,
  -- An operator suspends an account: all its keys are rejected as suspended, those that its owners create later included.
  suspended_at   timestamptz,
  suspend_reason text,
  -- A closed account has no usable key, nobody signs in for it, and no credit is granted to it. Its balance and its ledger stay.
  closed_at      timestamptz
);

-- One row per account, the only hot row of a settlement: fillfactor leaves room for updates on the same page.
CREATE TABLE account_balance (
  account_id    bigint PRIMARY KEY,
  balance       bigint NOT NULL DEFAULT 0,
  credits       bigint NOT NULL DEFAULT 0,  -- total_credits: everything ever added
  usage         bigint NOT NULL DEFAULT 0,  -- total_usage: everything deducted or expired
  lot_applied   bigint NOT NULL DEFAULT 0,  -- the part of usage that credit lots have already been charged with
  entries       bigint NOT NULL DEFAULT 0,  -- how many ledger entries make this balance
  version       bigint NOT NULL DEFAULT 0,
  chain         bytea NOT NULL DEFAULT '',  -- sha256 of the chain before it and the last link (docs/decisions/ledger-chain.md)
  expired_until timestamptz,                -- the last instant at which credit expired: only usage from before it can be late
  CONSTRAINT balance_is_credits_minus_usage CHECK (balance = credits - usage),
  CONSTRAINT totals_only_grow_from_zero CHECK (credits >= 0 AND usage >= 0),
  CONSTRAINT lots_follow_usage CHECK (lot_applied >= 0 AND lot_applied <= usage)
) WITH (fillfactor = 50);

-- From when the pages of an account warn of its balance. Without a row the default of the program applies.
CREATE TABLE account_alert (
  account_id    bigint PRIMARY KEY,
  low_balance   bigint,
  min_days_left integer,
  updated_at    timestamptz NOT NULL,
  CONSTRAINT account_alert_balance_is_positive CHECK (low_balance > 0),
  CONSTRAINT account_alert_days_are_bounded CHECK (min_days_left BETWEEN 1 AND 365)
);

-- Credit comes in lots, spent in the order of expiry, then age. Settlement never touches them: they are charged lazily.
CREATE TABLE credit_lot (
  account_id bigint NOT NULL,
  id         bigint GENERATED ALWAYS AS IDENTITY,
  kind       smallint NOT NULL,
  amount     bigint NOT NULL,
  remaining  bigint NOT NULL,
  expires_at timestamptz,
  granted_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  CONSTRAINT lot_amount_is_positive CHECK (amount > 0),
  CONSTRAINT lot_remainder_is_part_of_it CHECK (remaining >= 0 AND remaining <= amount)
);
CREATE INDEX credit_lot_open ON credit_lot (account_id, expires_at, id) WHERE remaining > 0;
CREATE INDEX credit_lot_due ON credit_lot (expires_at) WHERE remaining > 0 AND expires_at IS NOT NULL;

-- Append only: the entries of an account are numbered without gaps, and are a chain of hashes (docs/decisions/ledger-chain.md).
-- kind: 1 topup, 2 bonus, 3 usage, 4 expiry, 5 refund, 6 adjustment. Usage that comes after the credit it was made with has expired takes
-- the expiry back: an entry of kind 4 above zero. A refund names the generation whose cost it gives back, and its key if that no longer
-- counts against the limit of the key; the entry of the generation itself stays as it is. Whoever refunds or adjusts says why.
CREATE TABLE ledger (
  account_id      bigint NOT NULL,
  id              bigint NOT NULL,
  kind            smallint NOT NULL,
  amount          bigint NOT NULL,
  generation_id   uuid,
  key_id          bigint,
  lot_id          bigint,
  idempotency_key text,
  memo            text,
  created_at      timestamptz NOT NULL,
  refund_of       uuid,
  record_digest   bigint,            -- the first 64 bits of the sha256 of its generation or lot; null for an entry without one
  link_rest       integer NOT NULL,  -- how many entries of the same link follow this one
  PRIMARY KEY (account_id, id),
  CONSTRAINT entry_moves_money CHECK (amount <> 0),
  CONSTRAINT entry_sign_follows_kind CHECK (kind IN (4, 6) OR (kind IN (1, 2, 5)) = (amount > 0)),
  CONSTRAINT refund_names_its_generation CHECK ((kind = 5) = (refund_of IS NOT NULL)),
  CONSTRAINT correction_has_a_reason CHECK (kind NOT IN (5, 6) OR memo <> '')
);
CREATE UNIQUE INDEX ledger_one_entry_per_generation ON ledger (account_id, generation_id) WHERE generation_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_idempotency ON ledger (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX ledger_refund_of ON ledger (account_id, refund_of) WHERE refund_of IS NOT NULL;
CREATE INDEX ledger_expiry ON ledger (account_id, lot_id) WHERE kind = 4;
-- The few entries of an account that are no usage: its transactions are these, and its usage by day.
CREATE INDEX ledger_not_usage ON ledger (account_id, id) WHERE kind <> 3;

-- kind: 1 inference, 2 management. limit_reset: 0 never, 1 daily, 2 weekly, 3 monthly. Only sha256 of a key is stored.
-- restrictions: the members of the key object of the API that restrict it; null where nothing does.
CREATE TABLE api_key (
  id              bigint GENERATED ALWAYS AS IDENTITY,
  hash            bytea NOT NULL,
  account_id      bigint NOT NULL,
  kind            smallint NOT NULL,
  name            text NOT NULL,
  label           text NOT NULL,
  user_disabled   boolean NOT NULL DEFAULT false,
  admin_suspended boolean NOT NULL DEFAULT false,
  suspend_reason  text,
  revoked_at      timestamptz,
  expires_at      timestamptz,
  limit_micro     numeric(22, 0),  -- up to 10^15 won (spec:money/7.3): as micro-won that is beyond a bigint
  limit_reset     smallint NOT NULL DEFAULT 0,
  restrictions    jsonb,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz,
  PRIMARY KEY (account_id, id),
  CONSTRAINT hash_is_sha256 CHECK (octet_length(hash) = 32),
  CONSTRAINT limit_is_not_negative CHECK (limit_micro >= 0)
);
CREATE INDEX api_key_by_id ON api_key (id);

-- Where a key is: found by its hash or its id without its account, when a process sees it for the first time. It keeps hashes and ids
-- unique: a constraint of a distributed table must contain the account.
CREATE TABLE key_directory (
  hash       bytea PRIMARY KEY,
  key_id     bigint NOT NULL UNIQUE,
  account_id bigint NOT NULL
);
-- The identity of a generation contains 12 bits of the hash of its account: they lead to the few accounts that may have it, which are in
-- one shard (docs/decisions/generation-ids.md).
CREATE INDEX key_directory_by_lead ON key_directory (((hashint8(account_id) >> 20) & 4095), account_id);

-- Spend by Seoul calendar day of the settlement: every period is a sum of days.
CREATE TABLE key_usage_day (
  account_id        bigint NOT NULL,
  key_id            bigint NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL DEFAULT 0,
  returned          bigint NOT NULL DEFAULT 0,  -- the part of cost that refunds gave back to the limit of the key
  requests          bigint NOT NULL DEFAULT 0,
  prompt_tokens     bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  records_digest    bigint NOT NULL DEFAULT 0,  -- the exclusive or of the digests of all records of the key on the day
  PRIMARY KEY (account_id, key_id, day),
  CONSTRAINT returned_is_part_of_cost CHECK (returned >= 0 AND returned <= cost)
) WITH (fillfactor = 50);
-- Finds the accounts that had requests on a day.
CREATE INDEX key_usage_day_by_day ON key_usage_day (day, account_id);

-- One row per identified inference request, failed ones at cost 0. id is a version 7 UUID, so ranges of it are ranges of time.
CREATE TABLE generation (
  account_id        bigint NOT NULL,
  id                uuid NOT NULL,
  key_id            bigint NOT NULL,
  created_at        timestamptz NOT NULL,
  settled_at        timestamptz NOT NULL,
  day               date NOT NULL,
  status            smallint NOT NULL,
  error_type        text,
  model             text,
  provider          text,
  finish_reason     text,
  prompt_tokens     integer NOT NULL,
  completion_tokens integer NOT NULL,
  cost              bigint NOT NULL,
  price_version     bigint,
  detail            json NOT NULL,  -- json is kept as it came: a fifth less of a record than jsonb, and a third less work
  app_id            bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, id),
  CONSTRAINT cost_is_not_negative CHECK (cost >= 0)
) PARTITION BY RANGE (id);
CREATE TABLE generation_default PARTITION OF generation DEFAULT;
-- Requests whose hour of settlement does not follow from their id: those of a process that was recovered later, and very long ones.
CREATE INDEX generation_settled_apart ON generation (account_id, settled_at)
  WHERE settled_at - created_at NOT BETWEEN interval '-01:00:00' AND interval '01:00:00';
-- Finds the records of a span of time of all accounts (ids contain their instant) for the console. A block range index costs a
-- settlement next to nothing; records are appended, so that each range of blocks has few ids.
CREATE INDEX generation_by_time ON generation USING brin (id) WITH (autosummarize = on);

-- An app is what an account's requests say they come from (docs/decisions/apps.md). id: 48 bits of the sha256 of its identity.
CREATE TABLE app (
  account_id    bigint NOT NULL,
  id            bigint NOT NULL,
  name          text NOT NULL,
  url           text,
  first_seen_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  CONSTRAINT app_is_bounded CHECK (id > 0 AND char_length(name) <= 100 AND char_length(url) <= 500)
);

-- What the owner of an account changed about one of its apps. No record and no sum changes: pages apply it when they read.
CREATE TABLE app_preference (
  account_id  bigint NOT NULL,
  app_id      bigint NOT NULL,
  name        text,
  merged_into bigint,
  is_hidden   boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, app_id),
  CONSTRAINT app_preference_name_is_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
  CONSTRAINT app_preference_is_no_loop CHECK (merged_into <> app_id)
);

-- An account owner asks for a top-up; an operator confirms it, with exactly one ledger entry, or rejects it.
CREATE TABLE topup_request (
  account_id     bigint NOT NULL,
  id             bigint GENERATED ALWAYS AS IDENTITY,
  amount         bigint NOT NULL,
  state          text NOT NULL DEFAULT 'pending',
  depositor      text,
  note           text,
  requested_at   timestamptz NOT NULL,
  decided_at     timestamptz,
  decided_by     text,
  reason         text,
  bank_reference text,
  entry_id       bigint,
  PRIMARY KEY (account_id, id),
  CONSTRAINT topup_amount_is_positive CHECK (amount > 0),
  CONSTRAINT topup_state_is_known CHECK (state IN ('pending', 'confirmed', 'rejected', 'withdrawn')),
  CONSTRAINT topup_is_decided_once CHECK ((state = 'pending') = (decided_at IS NULL)),
  CONSTRAINT topup_entry_follows_state CHECK ((state = 'confirmed') = (entry_id IS NOT NULL))
);
CREATE UNIQUE INDEX topup_request_id ON topup_request (id);
CREATE INDEX topup_request_pending ON topup_request (requested_at, id) WHERE state = 'pending';
-- One transfer pays one request.
CREATE UNIQUE INDEX topup_request_bank_reference ON topup_request (bank_reference) WHERE bank_reference IS NOT NULL;

-- An account owner pays by card: what was ordered, and what the provider said last. The ledger has the money.
CREATE TABLE payment_order (
  account_id  bigint NOT NULL,
  id          bigint GENERATED ALWAYS AS IDENTITY,
  order_id    text NOT NULL,
  amount      bigint NOT NULL,
  canceled    bigint NOT NULL DEFAULT 0,
  state       text NOT NULL DEFAULT 'open',
  payment_key text,
  created_at  timestamptz NOT NULL,
  looked_at   timestamptz NOT NULL,
  paid_at     timestamptz,
  entry_id    bigint,
  failure     text,
  PRIMARY KEY (account_id, id),
  CONSTRAINT payment_amount_is_positive CHECK (amount > 0),
  CONSTRAINT payment_canceled_is_bounded CHECK (canceled BETWEEN 0 AND amount),
  CONSTRAINT payment_state_is_known CHECK (state IN ('open', 'paid', 'canceled', 'failed')),
  CONSTRAINT payment_entry_follows_state CHECK (CASE state WHEN 'paid' THEN entry_id IS NOT NULL WHEN 'canceled' THEN true ELSE entry_id IS NULL END)
);
CREATE UNIQUE INDEX payment_order_id ON payment_order (id);
CREATE UNIQUE INDEX payment_order_order_id ON payment_order (order_id);
CREATE UNIQUE INDEX payment_order_payment_key ON payment_order (payment_key) WHERE payment_key IS NOT NULL;
CREATE INDEX payment_order_due ON payment_order (looked_at) WHERE state IN ('open', 'paid');

-- The price a generation was billed with can always be read again. Rates are pico-won per unit.
CREATE TABLE price_version (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model        text NOT NULL,
  candidate    text NOT NULL,
  prompt       bigint NOT NULL,
  completion   bigint NOT NULL,
  request      bigint NOT NULL,
  cache_read   bigint NOT NULL,
  cache_write  bigint NOT NULL,
  published_at timestamptz NOT NULL,
  -- What the price was stated as, and how dollars became won: enough to compute its rates again. Amounts and rates are decimal text,
  -- exactly as stated; stated: the amounts by name.
  currency       text NOT NULL,
  per            text NOT NULL,
  stated         jsonb NOT NULL,
  usd_krw        text,
  margin_percent text,
  facts_as_of    date,
  CONSTRAINT currency_is_known CHECK (currency IN ('KRW', 'USD')),
  CONSTRAINT dollars_have_a_rate CHECK ((usd_krw IS NULL) = (currency <> 'USD') AND (margin_percent IS NULL) = (usd_krw IS NULL))
);
CREATE INDEX price_version_latest ON price_version (model, candidate, id);

-- Append only: what the catalogue offered from then on, as [{model, candidate, price_version}] in its order. The last one is current.
CREATE TABLE catalogue_edition (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  offers       jsonb NOT NULL,
  published_at timestamptz NOT NULL
);

-- One row: how many price versions and editions there are, and the chains of their rows.
CREATE TABLE catalogue_head (
  id            smallint PRIMARY KEY,
  prices        bigint NOT NULL,
  price_chain   bytea NOT NULL,
  editions      bigint NOT NULL,
  edition_chain bytea NOT NULL,
  CONSTRAINT there_is_one_head CHECK (id = 1)
);
COMMENT ON TABLE catalogue_head IS 'has a row from the start';
INSERT INTO catalogue_head VALUES (1, 0, '', 0, '');

-- What operators drained and resumed: of a candidate whose last change is a drain, no node sends new requests to it. Rows are only added.
-- is_change: false for a request with an idempotency key that found the candidate in that state already.
CREATE TABLE candidate_drain (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model           text NOT NULL,
  candidate       text NOT NULL,
  drained         boolean NOT NULL,
  is_change       boolean NOT NULL,
  reason          text NOT NULL,
  changed_at      timestamptz NOT NULL,
  changed_by      text NOT NULL,
  idempotency_key text UNIQUE
);
CREATE INDEX candidate_drain_latest ON candidate_drain (model, candidate, id) WHERE is_change;

-- Months whose records were dropped (docs/decisions/retention.md), each a range of ids. month: its first Seoul day.
CREATE TABLE pruned_month (
  month     date PRIMARY KEY,
  from_id   uuid NOT NULL,
  to_id     uuid NOT NULL,
  records   bigint NOT NULL,
  cost      bigint NOT NULL,
  pruned_at timestamptz NOT NULL,
  digest    bytea NOT NULL  -- sha256 of the row and of its rows of pruned_usage
);

-- What the dropped records add up to: the books are checked with these sums in their place. billed: records with a cost.
-- model: empty where the records had none.
CREATE TABLE pruned_usage (
  account_id        bigint NOT NULL,
  month             date NOT NULL,
  key_id            bigint NOT NULL,
  app_id            bigint NOT NULL,
  model             text NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL,
  requests          bigint NOT NULL,
  billed            bigint NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  records_digest    bigint NOT NULL,
  PRIMARY KEY (account_id, month, key_id, app_id, model, day)
);

-- Months whose records are being dropped shard by shard (docs/decisions/retention.md). A month moves to pruned_month
-- when no shard has its records any more; until then some shards have the records, and the others their sums.
CREATE TABLE pruning_month (
  month   date PRIMARY KEY,
  from_id uuid NOT NULL,
  to_id   uuid NOT NULL
);

-- Settlements that the database refused for their content: their money has not moved. Nothing here can refuse such a row once more, so
-- ids and amounts are not bound to what other tables can hold. record: as the journal had it. They are numbered without gaps, and their
-- hashes are a chain: a row that was removed is found (docs/decisions/ledger-chain.md).
CREATE TABLE quarantined_settlement (
  generation_id  text PRIMARY KEY,
  account_id     numeric NOT NULL,
  key_id         numeric NOT NULL,
  cost           numeric NOT NULL,
  record         bytea NOT NULL,
  reason         text NOT NULL,
  attempts       bigint NOT NULL DEFAULT 1,
  quarantined_at timestamptz NOT NULL DEFAULT now(),
  resolution     text,
  resolved_at    timestamptz,
  note           text,
  number         bigint NOT NULL,
  CONSTRAINT resolution_is_known CHECK (resolution IN ('settled', 'written off')),
  CONSTRAINT resolution_has_its_time CHECK ((resolution IS NULL) = (resolved_at IS NULL)),
  CONSTRAINT written_off_for_a_reason CHECK (resolution IS DISTINCT FROM 'written off' OR note IS NOT NULL)
);
CREATE INDEX quarantined_settlement_open ON quarantined_settlement (generation_id) WHERE resolution IS NULL;

-- One row: how many settlements were ever refused, and the chain of their rows.
CREATE TABLE quarantine_head (
  id      smallint PRIMARY KEY,
  refused bigint NOT NULL,
  chain   bytea NOT NULL,
  CONSTRAINT there_is_one_quarantine_head CHECK (id = 1)
);
COMMENT ON TABLE quarantine_head IS 'has a row from the start';
INSERT INTO quarantine_head VALUES (1, 0, '');

-- Rows of the books are added, never changed. These rules hold for the owner of the tables and for a superuser as well.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: rows of the books are added, never changed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalogue_edition EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pruned_month EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON pruned_usage EXECUTE FUNCTION refuse_change();
-- Of a lot only the remainder changes; balances and sums change, and stay.
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF account_id, id, kind, amount, expires_at, granted_at ON credit_lot
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON account_balance EXECUTE FUNCTION refuse_change();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON key_usage_day EXECUTE FUNCTION refuse_change();
-- A month of records goes as a whole, by dropping its partition. A trigger for each row is also that of every partition.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON generation FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON generation EXECUTE FUNCTION refuse_change();
-- A decision is noted in the row; the row itself stays.
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF number, generation_id, account_id, key_id, cost, record, quarantined_at
  ON quarantined_settlement EXECUTE FUNCTION refuse_change();

ALTER TABLE ledger ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE price_version ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE catalogue_edition ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE pruned_month ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE pruned_usage ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE credit_lot ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE account_balance ENABLE ALWAYS TRIGGER kept;
ALTER TABLE key_usage_day ENABLE ALWAYS TRIGGER kept;
ALTER TABLE generation ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE generation ENABLE ALWAYS TRIGGER append_only_truncate;
ALTER TABLE quarantined_settlement ENABLE ALWAYS TRIGGER append_only;

-- Usage by hour of the settlement, derived from the records (docs/decisions/rollups.md). account_id 0: all accounts together, with
-- key_id and app_id 0. Empty text, price_version 0: the records had none. Histograms are sparse: at is the bucket of a value, n how many values.
CREATE TABLE usage_hour (
  account_id        bigint NOT NULL,
  hour              timestamptz NOT NULL,
  key_id            bigint NOT NULL,
  app_id            bigint NOT NULL,
  model             text NOT NULL,
  provider          text NOT NULL,
  status            smallint NOT NULL,
  error_type        text NOT NULL,
  finish_reason     text NOT NULL,
  price_version     bigint NOT NULL,
  requests          bigint NOT NULL,
  cost              bigint NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  reasoning_tokens  bigint NOT NULL,
  cached_tokens     bigint NOT NULL,
  ttft_at           smallint[] NOT NULL,
  ttft_n            bigint[] NOT NULL,
  duration_at       smallint[] NOT NULL,
  duration_n        bigint[] NOT NULL,
  speed_at          smallint[] NOT NULL,
  speed_n           bigint[] NOT NULL,
  PRIMARY KEY (account_id, hour, key_id, app_id, model, provider, status, error_type, finish_reason, price_version)
);
-- An hour is replaced as a whole, whoever used it.
CREATE INDEX usage_hour_by_hour ON usage_hour (hour);

-- Every hour before rolled_until is in usage_hour. No row: none is.
CREATE TABLE usage_rollup (
  id           smallint PRIMARY KEY DEFAULT 1,
  rolled_until timestamptz NOT NULL,
  CONSTRAINT usage_rollup_is_one_row CHECK (id = 1)
);

-- Hours in which an account got a record after they had ended: their rollup must be computed again. Rows are only added and deleted,
-- so that a settlement waits for nobody.
CREATE TABLE stale_hour (
  id         bigint GENERATED ALWAYS AS IDENTITY,
  account_id bigint NOT NULL,
  hour       timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX stale_hour_by_id ON stale_hour (id);

-- What the records of a dropped month add up to by hour, with the columns of usage_hour: hours are rolled up from the records that are
-- left and from these rows (docs/decisions/rollups.md). month: the month that the records were created in, as in pruned_month.
CREATE TABLE pruned_usage_hour (
  month date NOT NULL,
  LIKE usage_hour,
  PRIMARY KEY (hour, account_id, month, key_id, app_id, model, provider, status, error_type, finish_reason, price_version)
);

-- The gateways that serve from this database. seen_at is the database's own time, so that the clocks of nodes do not matter. One process
-- at a time has the identity of a data directory (home). session: which one; process: where it runs, so that the next one can find out
-- whether it is dead. keeps_charges: its journal may hold charges that clients saw and the database does not have. edition: which
-- published edition it serves, and differences how many of its prices its configuration states otherwise; null: it did not report any yet.
CREATE TABLE gateway_node (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  home          uuid NOT NULL,
  address       text NOT NULL,             -- where it serves, for people
  started_at    timestamptz NOT NULL DEFAULT now(),
  seen_at       timestamptz NOT NULL DEFAULT now(),
  knows         bigint NOT NULL DEFAULT 0, -- it reckons with every node up to this id
  session       uuid NOT NULL DEFAULT gen_random_uuid(),
  process       text NOT NULL DEFAULT '',
  keeps_charges boolean NOT NULL DEFAULT true,
  edition       bigint,
  differences   integer,
  hostname      text,                      -- what runs there, for people
  version       text,
  configuration text
);
CREATE UNIQUE INDEX gateway_node_home ON gateway_node (home);

-- Lost nodes that were taken out of the list by a person, and why: their journal was recovered, or was written off.
CREATE TABLE closed_node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  home       uuid NOT NULL,
  address    text NOT NULL,
  seen_at    timestamptz NOT NULL,
  closed_at  timestamptz NOT NULL DEFAULT now(),
  closure    text NOT NULL,
  reason     text,
  CONSTRAINT closure_is_known CHECK (closure IN ('recovered', 'written off')),
  CONSTRAINT write_off_has_a_reason CHECK (closure <> 'written off' OR reason IS NOT NULL)
);

-- What a node may spend of an account (kind 1) or below a key's limit (kind 2) without asking: the leases of all nodes together are never
-- more than what is left (docs/decisions/credit-leases.md). Empty while one node serves alone.
CREATE TABLE spend_share (
  account_id bigint NOT NULL,
  kind       smallint NOT NULL,
  subject    bigint NOT NULL,
  node_id    bigint NOT NULL,
  amount     bigint NOT NULL,
  PRIMARY KEY (account_id, kind, subject, node_id),
  CONSTRAINT share_is_not_negative CHECK (amount >= 0)
) WITH (fillfactor = 50);
CREATE INDEX spend_share_node ON spend_share (node_id);

-- What other processes must notice. Announced by NOTIFY where it exists and polled everywhere. tx: the transaction of the change.
-- Numbers are given before transactions commit, so an order by id would pass over whoever commits late; what a snapshot has not seen is
-- known by its transaction alone.
CREATE TABLE change_event (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT now(),
  topic   text NOT NULL,
  subject bigint NOT NULL,
  tx      xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX change_event_tx ON change_event (tx);

-- The identity of these books. A journal names the database that it is to be settled in (docs/decisions/node-identity.md).
CREATE TABLE database_identity (
  only_row boolean PRIMARY KEY DEFAULT true,
  id       uuid NOT NULL DEFAULT gen_random_uuid(),
  CONSTRAINT database_has_one_identity CHECK (only_row)
);
COMMENT ON TABLE database_identity IS 'has a row from the start';
INSERT INTO database_identity DEFAULT VALUES;

-- A backup asks every node to bring into the database what it has settled, and waits for the answers (docs/decisions/backup.md).
-- Nodes are known by the name of their data directory: one that was taken for lost comes back with another number.
CREATE TABLE flush_request (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  asked_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE flush_answer (
  request_id  bigint NOT NULL,
  home        uuid NOT NULL,
  answered_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (request_id, home)
);

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
COMMENT ON TABLE backup_run IS 'in no backup';

-- The published datasets (spec:api/18). Only rows of the source are stored: samples are computed.

-- What the source published of a dataset for a period, replaced as a whole. series: a slice of the model ranking such as
-- 'modality:text', 'all' of its traffic, and '' elsewhere. content and about are JSON texts.
CREATE TABLE dataset_period (
  dataset    text NOT NULL,
  series     text NOT NULL,
  end_date   date NOT NULL,
  start_date date NOT NULL,
  as_of      timestamptz NOT NULL,
  synced_at  timestamptz NOT NULL,
  rows       integer NOT NULL,
  content    text NOT NULL,
  about      text NOT NULL,
  PRIMARY KEY (dataset, series, end_date),
  CONSTRAINT period_ends_after_it_starts CHECK (start_date <= end_date)
);

-- What each dataset's daily sync has come to. done_day: the Seoul day whose sync is done. failures and fault: since
-- the last success. retry_at: before it no process takes the dataset, after a failure or while one syncs it.
CREATE TABLE dataset_sync (
  dataset   text PRIMARY KEY,
  done_day  date,
  failures  integer NOT NULL DEFAULT 0,
  fault     text,
  retry_at  timestamptz,
  synced_at timestamptz
);

-- One row: how often the source was asked on `day` (UTC), and when last.
CREATE TABLE dataset_source (
  id       smallint PRIMARY KEY,
  day      date,
  requests integer NOT NULL DEFAULT 0,
  asked_at timestamptz,
  CONSTRAINT there_is_one_source CHECK (id = 1)
);
COMMENT ON TABLE dataset_source IS 'has a row from the start';
INSERT INTO dataset_source (id) VALUES (1);

-- Who may use the dashboard and the console. Only hashes of passwords, session tokens and one-time links are stored.

-- The one person who signs in for an account. password: argon2id as a PHC string; null: none is set.
-- totp_step: the last time step whose code was accepted, so that no code is accepted twice.
CREATE TABLE owner (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id      bigint NOT NULL,
  email           text NOT NULL,
  email_key       text NOT NULL UNIQUE,   -- the address as it is compared
  email_verified  boolean NOT NULL,
  name            text,
  password        text,
  password_set_at timestamptz,
  webauthn_id     bytea NOT NULL UNIQUE,  -- names the person to authenticators, and is no personal data
  totp_secret     bytea,
  totp_enabled_at timestamptz,
  totp_step       bigint NOT NULL DEFAULT 0,
  preferences     jsonb NOT NULL DEFAULT '{}',
  created_at      timestamptz NOT NULL,
  CONSTRAINT totp_needs_its_secret CHECK (totp_enabled_at IS NULL OR totp_secret IS NOT NULL)
);
CREATE UNIQUE INDEX one_owner_per_account ON owner (account_id);

-- The identity of an owner at the OpenID provider.
CREATE TABLE owner_oidc (
  issuer     text NOT NULL,
  subject    text NOT NULL,
  owner_id   bigint NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject),
  CONSTRAINT one_subject_per_issuer UNIQUE (owner_id, issuer)
);

CREATE TABLE passkey (
  credential_id bytea PRIMARY KEY,
  id            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  owner_id      bigint NOT NULL,
  public_key    bytea NOT NULL,
  sign_count    bigint NOT NULL,
  transports    text[] NOT NULL,
  name          text NOT NULL,
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz
);
CREATE INDEX passkey_owner ON passkey (owner_id, id);

-- Codes that replace a TOTP code once; a used one is deleted.
CREATE TABLE recovery_code (
  owner_id  bigint NOT NULL,
  code_hash bytea NOT NULL,
  PRIMARY KEY (owner_id, code_hash)
);

-- A person, or a machine whose token expires. A removed operator keeps its row: the audit log refers to it, and who signs in
-- at the OpenID provider (oidc_issuer, oidc_subject) stays removed.
CREATE TABLE operator (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name         text NOT NULL,
  name_key     text NOT NULL,
  role         text NOT NULL,
  created_at   timestamptz NOT NULL,
  removed_at   timestamptz,
  expires_at   timestamptz,
  oidc_issuer  text,
  oidc_subject text,
  CONSTRAINT role_is_known CHECK (role IN ('viewer', 'support', 'admin')),
  CONSTRAINT operator_oidc_is_whole CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL))
);
CREATE UNIQUE INDEX operator_name ON operator (name_key) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX operator_oidc ON operator (oidc_issuer, oidc_subject) WHERE removed_at IS NULL;

-- As passkey. In a restored database none is valid, so none of an operator that was removed meanwhile.
CREATE TABLE operator_passkey (
  credential_id bytea PRIMARY KEY,
  id            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  operator_id   bigint NOT NULL,
  public_key    bytea NOT NULL,
  sign_count    bigint NOT NULL,
  transports    text[] NOT NULL,
  name          text NOT NULL,
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz
);
COMMENT ON TABLE operator_passkey IS 'in no backup';
CREATE INDEX operator_passkey_operator ON operator_passkey (operator_id, id);

-- The token of a machine. In a restored database none is valid, so none that was revoked meanwhile.
CREATE TABLE operator_token (
  token_hash  bytea PRIMARY KEY,
  operator_id bigint NOT NULL,
  CONSTRAINT operator_token_hash_is_sha256 CHECK (octet_length(token_hash) = 32)
);
COMMENT ON TABLE operator_token IS 'in no backup';

-- Links that an operator gives to a person. A used one stays until it is pruned, so that a second use is recognised.
CREATE TABLE one_time_link (
  token_hash  bytea PRIMARY KEY,
  purpose     text NOT NULL,
  account_id  bigint,
  owner_id    bigint,
  operator_id bigint,
  email       text,
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  used_at     timestamptz,
  CONSTRAINT link_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
  CONSTRAINT purpose_is_known CHECK (purpose IN ('invitation', 'reset', 'account', 'console')),
  CONSTRAINT link_names_its_subject CHECK (
    CASE purpose WHEN 'console' THEN operator_id IS NOT NULL WHEN 'reset' THEN owner_id IS NOT NULL ELSE account_id IS NOT NULL END)
);
COMMENT ON TABLE one_time_link IS 'in no backup';
CREATE INDEX one_time_link_expiry ON one_time_link (expires_at);

-- A signed-in browser: an owner's (owner_id null: signed in with a management key or an account link), or an operator's.
CREATE TABLE page_session (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash   bytea NOT NULL UNIQUE,
  account_id   bigint,
  owner_id     bigint,
  key_id       bigint,
  operator_id  bigint,
  via          text NOT NULL,
  address      text NOT NULL,
  user_agent   text NOT NULL,
  created_at   timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  idle_ms      integer NOT NULL,
  expires_at   timestamptz NOT NULL,
  CONSTRAINT session_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
  CONSTRAINT session_is_of_one_kind CHECK ((account_id IS NULL) <> (operator_id IS NULL)),
  CONSTRAINT via_is_known CHECK (via IN ('password', 'passkey', 'oidc', 'link', 'key'))
);
COMMENT ON TABLE page_session IS 'in no backup';
CREATE INDEX page_session_account ON page_session (account_id, owner_id) WHERE account_id IS NOT NULL;
CREATE INDEX page_session_operator ON page_session (operator_id) WHERE operator_id IS NOT NULL;

-- A sign-in, or the registration of a passkey, that has begun and is not complete.
CREATE TABLE sign_in_step (
  token_hash bytea PRIMARY KEY,
  kind       text NOT NULL,
  owner_id   bigint,
  data       jsonb NOT NULL,
  attempts   integer NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  CONSTRAINT step_is_known CHECK (kind IN ('totp', 'passkey', 'passkey-registration', 'oidc'))
);
COMMENT ON TABLE sign_in_step IS 'in no backup';
CREATE INDEX sign_in_step_expiry ON sign_in_step (expires_at);

-- Attempts to sign in, by the hash of an address or a name, in windows of fixed length.
CREATE TABLE sign_in_attempt (
  subject        bytea PRIMARY KEY,
  attempts       integer NOT NULL,
  window_ends_at timestamptz NOT NULL
);
COMMENT ON TABLE sign_in_attempt IS 'in no backup';
CREATE INDEX sign_in_attempt_end ON sign_in_attempt (window_ends_at);

-- Every act of every operator. It names owners and keys by their ids: it is kept when their personal data is deleted.
CREATE TABLE audit_entry (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL,
  operator_id bigint,
  who         text NOT NULL,
  role        text NOT NULL,
  act         text NOT NULL,
  account_id  bigint,
  subject     text,
  reason      text,
  before      jsonb,
  after       jsonb,
  CONSTRAINT audit_role_is_known CHECK (role IN ('viewer', 'support', 'admin', 'cli'))
);
CREATE INDEX audit_entry_account ON audit_entry (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_entry_operator ON audit_entry (operator_id, id) WHERE operator_id IS NOT NULL;
CREATE INDEX audit_entry_act ON audit_entry (act, id);

CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF id, at, operator_id, who, role, act, account_id, subject, before, after
  ON audit_entry EXECUTE FUNCTION refuse_change();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER append_only;
-- In a reason the address of a person is replaced when the person is erased, and in no other transaction.
CREATE TRIGGER append_only_reason BEFORE UPDATE ON audit_entry
  WHEN (current_setting('naru.erasing', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION refuse_change();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER append_only_reason;

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

-- The changes that the pages made, by idempotency key, kept for a day. key_hash: sha256 of the key. reply: the response without its
-- secrets; null: still running.
CREATE TABLE page_change (
  scope       text NOT NULL,
  key_hash    bytea NOT NULL,
  fingerprint bytea NOT NULL,
  started_at  timestamptz NOT NULL,
  reply       text,
  PRIMARY KEY (scope, key_hash)
);
COMMENT ON TABLE page_change IS 'in no backup';
CREATE INDEX page_change_age ON page_change (started_at);

-- Which messages go where. subject: 'account 7' (its owner), 'operator 3', or 'operators'; channel: email or webhook. address: null for the
-- e-mail of an account, which goes to its owner. Without a row an owner gets the e-mails of all kinds of owners, and nothing else is sent.
CREATE TABLE message_choice (
  subject  text NOT NULL,
  channel  text NOT NULL,
  kinds    text[] NOT NULL,
  language text NOT NULL,
  address  text,
  secret   text,  -- signs what is sent to a webhook
  PRIMARY KEY (subject, channel),
  CONSTRAINT message_channel_is_known CHECK (channel IN ('email', 'webhook')),
  CONSTRAINT message_webhook_is_signed CHECK ((channel = 'webhook') = (secret IS NOT NULL))
);

-- What happened, written in the transaction of its cause where there is one. key: the same cause is one event.
-- A restored database sends nothing again.
CREATE TABLE message_event (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key        text NOT NULL UNIQUE,
  kind       text NOT NULL,
  account_id bigint,
  data       jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  is_spread  boolean NOT NULL DEFAULT false  -- whether there is a message for each who chose the kind
);
COMMENT ON TABLE message_event IS 'in no backup';
CREATE INDEX message_event_new ON message_event (id) WHERE NOT is_spread;
CREATE INDEX message_event_account ON message_event (account_id) WHERE account_id IS NOT NULL;

-- One event for one recipient. next_at: the next attempt, or when the one under way counts as lost; null: it was sent, or given up.
CREATE TABLE message (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id   bigint NOT NULL,
  subject    text NOT NULL,
  channel    text NOT NULL,
  recipient  text NOT NULL,
  language   text NOT NULL,
  attempts   integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  next_at    timestamptz,
  sent_at    timestamptz,
  error      text,
  CONSTRAINT message_is_sent_once UNIQUE (event_id, subject, channel),
  CONSTRAINT message_sent_is_final CHECK (sent_at IS NULL OR next_at IS NULL)
);
COMMENT ON TABLE message IS 'in no backup';
CREATE INDEX message_due ON message (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX message_subject ON message (subject, id);

-- When conditions that cause messages were last looked for, by one of the servers.
CREATE TABLE message_watch (
  is_only   boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  looked_at timestamptz NOT NULL
);
COMMENT ON TABLE message_watch IS 'in no backup';
