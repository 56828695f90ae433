-- The published datasets (spec:api/18). Only rows of the source are stored: samples are computed.

-- A period of the app ranking; older ones are kept. Its rows come and go with it in one transaction.
CREATE TABLE app_ranking_period (
  end_date   date PRIMARY KEY,
  start_date date NOT NULL,
  as_of      timestamptz NOT NULL,
  synced_at  timestamptz NOT NULL,
  CONSTRAINT period_ends_after_it_starts CHECK (start_date <= end_date)
);

CREATE TABLE app_ranking (
  end_date       date NOT NULL,
  rank           integer NOT NULL,
  app_id         bigint NOT NULL,
  app_name       text NOT NULL,
  total_tokens   numeric(30),
  total_requests bigint,
  url            text,
  description    text,
  category       text,
  subcategory    text,
  growth_pct     double precision,
  PRIMARY KEY (end_date, rank),
  CONSTRAINT one_rank_per_app UNIQUE (end_date, app_id),
  CONSTRAINT rank_counts_from_one CHECK (rank >= 1)
);

-- Tokens by model and date. series: 'all', or a slice such as 'modality:text'; a date is a day, or the Monday of a week where
-- the source aggregates by week.
CREATE TABLE model_ranking (
  series       text NOT NULL,
  date         date NOT NULL,
  model        text NOT NULL,
  total_tokens numeric(30) NOT NULL,
  PRIMARY KEY (series, date, model)
);

-- How far a series has been read: where the next sync goes on.
CREATE TABLE model_ranking_series (
  series    text PRIMARY KEY,
  through   date NOT NULL,
  as_of     timestamptz NOT NULL,
  synced_at timestamptz NOT NULL
);

-- The benchmarks as a whole, replaced as a whole. items and sources are JSON texts.
CREATE TABLE benchmark_snapshot (
  id        smallint PRIMARY KEY,
  as_of     timestamptz NOT NULL,
  synced_at timestamptz NOT NULL,
  items     text NOT NULL,
  sources   text NOT NULL,
  CONSTRAINT there_is_one_snapshot CHECK (id = 1)
);

-- Pages read and not yet published: a sync that was broken off goes on behind them.
CREATE TABLE dataset_page (
  dataset    text NOT NULL,
  page       integer NOT NULL,
  fetched_at timestamptz NOT NULL,
  content    text NOT NULL,
  PRIMARY KEY (dataset, page)
);

-- What each dataset's daily sync has come to. done_day: the Seoul day whose sync is done.
CREATE TABLE dataset_sync (
  dataset   text PRIMARY KEY,
  done_day  date,
  failures  integer NOT NULL DEFAULT 0,
  retry_at  timestamptz,
  synced_at timestamptz
);

-- One row: who talks to the source now, and how often it was asked on `day` (UTC). A holder that died is outlived.
CREATE TABLE dataset_source (
  id         smallint PRIMARY KEY,
  holder     uuid,
  held_until timestamptz,
  day        date,
  requests   integer NOT NULL DEFAULT 0,
  asked_at   timestamptz,
  CONSTRAINT there_is_one_source CHECK (id = 1)
);
INSERT INTO dataset_source (id) VALUES (1);
