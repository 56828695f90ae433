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
