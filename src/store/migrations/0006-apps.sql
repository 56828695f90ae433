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

-- Usage by Seoul day of the settlement. app_id 0: requests of no app, and of those beyond the account's limit.
CREATE TABLE app_usage_day (
  account_id        bigint NOT NULL,
  app_id            bigint NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL DEFAULT 0,
  requests          bigint NOT NULL DEFAULT 0,
  prompt_tokens     bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, app_id, day)
) WITH (fillfactor = 50);

-- Only requests that were answered, or were being answered, have a model.
CREATE TABLE model_usage_day (
  account_id        bigint NOT NULL,
  model             text NOT NULL,
  day               date NOT NULL,
  cost              bigint NOT NULL DEFAULT 0,
  requests          bigint NOT NULL DEFAULT 0,
  prompt_tokens     bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, model, day)
) WITH (fillfactor = 50);

-- The app that the generation is counted under; 0 as above.
ALTER TABLE generation ADD COLUMN app_id bigint NOT NULL DEFAULT 0;

INSERT INTO app_usage_day (account_id, app_id, day, cost, requests, prompt_tokens, completion_tokens)
SELECT account_id, 0, day, sum(cost), count(*), sum(prompt_tokens), sum(completion_tokens) FROM generation GROUP BY 1, 3;
INSERT INTO model_usage_day (account_id, model, day, cost, requests, prompt_tokens, completion_tokens)
SELECT account_id, model, day, sum(cost), count(*), sum(prompt_tokens), sum(completion_tokens) FROM generation
WHERE model IS NOT NULL GROUP BY 1, 2, 3;
