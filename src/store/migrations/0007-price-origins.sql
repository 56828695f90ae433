-- What a price was stated as, and how dollars became won: enough to compute its rates again. Null in versions that are older
-- than these columns. Amounts and rates are decimal text, exactly as stated; stated: the amounts by name.
ALTER TABLE price_version
  ADD COLUMN currency       text,
  ADD COLUMN per            text,
  ADD COLUMN stated         jsonb,
  ADD COLUMN usd_krw        text,
  ADD COLUMN margin_percent text,
  ADD COLUMN facts_as_of    date,
  ADD CONSTRAINT currency_is_known CHECK (currency IN ('KRW', 'USD')),
  ADD CONSTRAINT stated_is_whole CHECK ((currency IS NULL) = (stated IS NULL) AND (currency IS NULL) = (per IS NULL)),
  ADD CONSTRAINT dollars_have_a_rate CHECK ((usd_krw IS NULL) = (currency IS DISTINCT FROM 'USD') AND (margin_percent IS NULL) = (usd_krw IS NULL));

-- Append only: what the catalogue offered from then on, as [{model, candidate, price_version}] in its order. The last one is current.
CREATE TABLE catalogue_edition (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  offers       jsonb NOT NULL,
  published_at timestamptz NOT NULL
);
