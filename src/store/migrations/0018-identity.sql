-- Who may use the dashboard and the console. Only hashes of passwords, session tokens and one-time links are stored.

-- A person who signs in for an account; an account may have several. password: argon2id as a PHC string; null: none is set.
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
CREATE INDEX owner_account ON owner (account_id, id);

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

-- A removed operator keeps its row: the audit log refers to it.
CREATE TABLE operator (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL,
  name_key   text NOT NULL,
  role       text NOT NULL,
  created_at timestamptz NOT NULL,
  removed_at timestamptz,
  CONSTRAINT role_is_known CHECK (role IN ('viewer', 'support', 'admin'))
);
CREATE UNIQUE INDEX operator_name ON operator (name_key) WHERE removed_at IS NULL;

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
  expires_at   timestamptz NOT NULL,
  CONSTRAINT session_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
  CONSTRAINT session_is_of_one_kind CHECK ((account_id IS NULL) <> (operator_id IS NULL)),
  CONSTRAINT via_is_known CHECK (via IN ('password', 'passkey', 'oidc', 'link', 'key'))
);
CREATE INDEX page_session_account ON page_session (account_id, owner_id) WHERE account_id IS NOT NULL;
CREATE INDEX page_session_operator ON page_session (operator_id) WHERE operator_id IS NOT NULL;
CREATE INDEX page_session_last_seen ON page_session (last_seen_at);

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
CREATE INDEX sign_in_step_expiry ON sign_in_step (expires_at);

-- Attempts to sign in, by the hash of an address or a name, in windows of fixed length.
CREATE TABLE sign_in_attempt (
  subject        bytea PRIMARY KEY,
  attempts       integer NOT NULL,
  window_ends_at timestamptz NOT NULL
);
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

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry EXECUTE FUNCTION refuse_change();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER append_only;
