-- Money is bigint micro-won everywhere. Keys of every table begin with account_id where a distributed engine would shard by it.

CREATE TABLE account (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL,
  email      text,
  created_at timestamptz NOT NULL
);

-- One row per account, the only hot row of a settlement: fillfactor leaves room for updates on the same page.
CREATE TABLE account_balance (
  account_id  bigint PRIMARY KEY,
  balance     bigint NOT NULL DEFAULT 0,
  credits     bigint NOT NULL DEFAULT 0,  -- total_credits: everything ever added
  usage       bigint NOT NULL DEFAULT 0,  -- total_usage: everything deducted or expired
  lot_applied bigint NOT NULL DEFAULT 0,  -- the part of usage that credit lots have already been charged with
  entries     bigint NOT NULL DEFAULT 0,  -- how many ledger entries make this balance
  version     bigint NOT NULL DEFAULT 0,
  CONSTRAINT balance_is_credits_minus_usage CHECK (balance = credits - usage),
  CONSTRAINT totals_only_grow_from_zero CHECK (credits >= 0 AND usage >= 0),
  CONSTRAINT lots_follow_usage CHECK (lot_applied >= 0 AND lot_applied <= usage)
) WITH (fillfactor = 50);

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

-- Append only. kind: 1 topup, 2 bonus, 3 usage, 4 expiry.
CREATE TABLE ledger (
  account_id      bigint NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  kind            smallint NOT NULL,
  amount          bigint NOT NULL,
  generation_id   uuid,
  key_id          bigint,
  lot_id          bigint,
  idempotency_key text,
  memo            text,
  created_at      timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  CONSTRAINT entry_moves_money CHECK (amount <> 0),
  CONSTRAINT entry_sign_follows_kind CHECK ((kind IN (1, 2)) = (amount > 0))
);
CREATE UNIQUE INDEX ledger_one_entry_per_generation ON ledger (account_id, generation_id) WHERE generation_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_idempotency ON ledger (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- kind: 1 inference, 2 management. limit_reset: 0 never, 1 daily, 2 weekly, 3 monthly. Only sha256 of a key is stored.
CREATE TABLE api_key (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash            bytea NOT NULL UNIQUE,
  account_id      bigint NOT NULL,
  kind            smallint NOT NULL,
  name            text NOT NULL,
  label           text NOT NULL,
  user_disabled   boolean NOT NULL DEFAULT false,
  admin_suspended boolean NOT NULL DEFAULT false,
  suspend_reason  text,
  revoked_at      timestamptz,
  expires_at      timestamptz,
  limit_micro     bigint,
  limit_reset     smallint NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz,
  CONSTRAINT hash_is_sha256 CHECK (octet_length(hash) = 32),
  CONSTRAINT limit_is_not_negative CHECK (limit_micro >= 0)
);
CREATE INDEX api_key_account ON api_key (account_id, id);

-- Spend by Seoul calendar day of the settlement: every period is a sum of days.
CREATE TABLE key_usage_day (
  account_id        bigint NOT NULL,
  key_id            bigint NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL DEFAULT 0,
  requests          bigint NOT NULL DEFAULT 0,
  prompt_tokens     bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, key_id, day)
) WITH (fillfactor = 50);

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
  detail            jsonb NOT NULL,
  PRIMARY KEY (account_id, id),
  CONSTRAINT cost_is_not_negative CHECK (cost >= 0)
) PARTITION BY RANGE (id);
CREATE TABLE generation_default PARTITION OF generation DEFAULT;

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
  published_at timestamptz NOT NULL
);
CREATE INDEX price_version_latest ON price_version (model, candidate, id);

-- What other processes must notice. Announced by NOTIFY where it exists and polled everywhere.
CREATE TABLE change_event (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT now(),
  topic   text NOT NULL,
  subject bigint NOT NULL
);
