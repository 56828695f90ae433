import { z } from 'zod';
import { type CatalogueChange, isLargeChange } from '../../catalogue/difference.ts';
import { type PriceVersion, readPricesBefore, readPublishedExchanges } from '../../catalogue/prices-sql.ts';
import type { StatedPrice } from '../../config/schema-prices.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { type CatalogueReview, marginAt } from '../../operations/catalogue-review.ts';
import { isoOf } from '../../time/clock.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { ratesBody, ratesShape } from '../rates.ts';
import { instant, pageOf } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { actorOf } from './operators.ts';

const historySize = 200;
const decimal = z.string().describe('An exact decimal number');
const percent = z.number().describe('The margin in percent of the cost');

const statedShape = z
  .strictObject({
    currency: z.enum(['KRW', 'USD']),
    per: z.enum(['token', '1K', '1M']),
    prompt: decimal,
    completion: decimal,
    usd_krw: decimal.nullable(),
    margin_percent: decimal.nullable(),
  })
  .describe('The price as the configuration states it');
const exchangeShape = z.strictObject({ usd_krw: decimal, margin_percent: decimal });
const changeKinds = [
  'model_added',
  'model_gone',
  'candidate_added',
  'candidate_gone',
  'price_changed',
] as const;
const changeShape = z.strictObject({
  change: z.enum(changeKinds),
  model: z.string(),
  candidate: z.string(),
  before: ratesShape.nullable(),
  after: ratesShape.nullable(),
  stated_before: statedShape.nullable(),
  stated_after: statedShape.nullable(),
  is_large: z.boolean().describe('A rate changes by more than a factor of ten'),
});
const versionShape = z.strictObject({
  version: z.int(),
  model: z.string(),
  candidate: z.string(),
  rates: ratesShape,
  stated: statedShape,
  published_at: instant,
});
const fileShape = z.strictObject({
  fault: z.string().nullable().describe('The reasons why the file cannot be published'),
  exchange: exchangeShape.nullable(),
  metadata: z
    .strictObject({ as_of: z.iso.date(), source: z.string() })
    .nullable()
    .describe('The public metadata that the file takes from; null: it takes none'),
  changes: z.array(changeShape),
  digest: z.string().nullable().describe('A digest of the changes, which a publication must send'),
});
const editionShape = z.strictObject({ id: z.int(), published_at: instant }).nullable();

/** Published and pending prices (A5), and the exchange rate with its effect on them (A7). */
export function pricePages(parts: ConsoleContext) {
  return [pricesPage(parts), historyPage(parts), publishPage(parts), exchangePage(parts)];
}

function pricesPage({ clock, operations }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/prices',
    summary:
      'The published prices with their margins, and the changes that a publication of the file would make',
    response: z.strictObject({
      edition: editionShape,
      items: z.array(
        versionShape.extend({
          margin_published: percent
            .nullable()
            .describe('At the exchange rate of its publication; null: the price is in won'),
          margin_now: percent
            .nullable()
            .describe('At the exchange rate of the file; null: the price is in won'),
        }),
      ),
      file: fileShape,
      as_of: instant,
    }),
    handle: async () => {
      const review = await operations.reviewCatalogue();
      const usdKrw = review.file.kind === 'readable' ? (review.file.exchange?.usdKrw ?? null) : null;
      return {
        edition: editionOf(review),
        items: review.published.map((version) => ({
          ...versionBody(version),
          margin_published: marginAt(version, version.stated.usdKrw),
          margin_now: marginAt(version, usdKrw),
        })),
        file: fileBody(review),
        as_of: isoOf(clock.now()),
      };
    },
  });
}

function historyPage({ reads }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/prices/history',
    summary: 'Every published price, the latest first',
    query: z.object({ model: z.string().max(200).optional(), cursor: integerText(1).optional() }),
    response: pageOf(versionShape),
    handle: async ({ query: { model, cursor } }) => {
      const place = { model: model ?? null, beforeId: cursor ?? null, limit: historySize + 1 };
      const { rows, next } = pageOfRows(await readPricesBefore(reads, place), historySize, ({ id }) => id);
      return { items: rows.map(versionBody), next };
    },
  });
}

function publishPage({ operations }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/prices/publish',
    role: 'admin',
    summary: 'Publish the prices of the file, as `naru models publish` does; running servers apply them',
    body: z.object({
      digest: z.string().max(64).describe('The digest of the changes that the operator reviewed'),
      confirm_large: z
        .boolean()
        .default(false)
        .describe('Publish also prices that change by more than a factor of ten'),
      reason: line(500).describe('For the audit log'),
    }),
    response: z.strictObject({
      edition: z.int(),
      changes: z.int(),
      not_taken: z.array(z.string()).describe('The addresses of live nodes that do not bill it yet'),
    }),
    handle: async ({ session, body }) => {
      const { file } = await operations.reviewCatalogue();
      if (file.kind === 'faulty') throw new PageRefusal('conflict', pageMessages.faultyFile(file.fault));
      if (file.digest !== body.digest) throw new PageRefusal('conflict', pageMessages.pricesChanged);
      if (!body.confirm_large && file.changes.some(isLargeChange))
        throw new PageRefusal('conflict', pageMessages.largePriceChange);
      try {
        const { confirm_large: allowsLarge, reason } = body;
        const published = await operations.as(actorOf(session)).publishCatalogue({ allowsLarge, reason });
        const { edition, changes, late } = published;
        return { edition, changes: changes.length, not_taken: late.map(({ address }) => address) };
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        throw new PageRefusal('conflict', pageMessages.faultyFile(error.message));
      }
    },
  });
}

function exchangePage({ reads, clock, operations }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/exchange',
    summary:
      'The exchange rate in effect and in the file, and the changes that a publication of the file would make',
    response: z.strictObject({
      edition: editionShape,
      file: fileShape,
      published: z
        .array(exchangeShape.extend({ since: instant }))
        .describe('The rates of the published prices, the latest first'),
      prices_in_usd: z.int().describe('Published prices that depend on the rate'),
      as_of: instant,
    }),
    handle: async () => {
      const review = await operations.reviewCatalogue();
      const published = await readPublishedExchanges(reads);
      return {
        edition: editionOf(review),
        file: fileBody(review),
        published: published.map(({ usdKrw, marginPercent, sinceMs }) => ({
          usd_krw: usdKrw,
          margin_percent: marginPercent,
          since: isoOf(sinceMs),
        })),
        prices_in_usd: review.published.filter(({ stated }) => stated.currency === 'USD').length,
        as_of: isoOf(clock.now()),
      };
    },
  });
}

function editionOf({ edition }: CatalogueReview): z.input<typeof editionShape> {
  return edition === null ? null : { id: edition.id, published_at: isoOf(edition.publishedAtMs) };
}

function fileBody({ file }: CatalogueReview): z.input<typeof fileShape> {
  if (file.kind === 'faulty')
    return { fault: file.fault, exchange: null, metadata: null, changes: [], digest: null };
  const { exchange, metadata, changes, digest } = file;
  return {
    fault: null,
    exchange: exchange === null ? null : { usd_krw: exchange.usdKrw, margin_percent: exchange.marginPercent },
    metadata: metadata === null ? null : { as_of: metadata.asOf, source: metadata.source },
    changes: changes.map(changeBody),
    digest,
  };
}

function changeBody(changed: CatalogueChange): z.input<typeof changeShape> {
  const { change, model, candidate, before, after } = changed;
  return {
    change,
    model,
    candidate,
    before: before === null ? null : ratesBody(before.price),
    after: after === null ? null : ratesBody(after.price),
    stated_before: before === null ? null : statedBody(before.stated),
    stated_after: after === null ? null : statedBody(after.stated),
    is_large: isLargeChange(changed),
  };
}

function versionBody({
  id,
  model,
  candidate,
  price,
  stated,
  publishedAtMs,
}: PriceVersion): z.input<typeof versionShape> {
  return {
    version: id,
    model,
    candidate,
    rates: ratesBody(price),
    stated: statedBody(stated),
    published_at: isoOf(publishedAtMs),
  };
}

function statedBody(stated: StatedPrice): z.input<typeof statedShape> {
  const { currency, per, prompt, completion, usdKrw, marginPercent } = stated;
  return { currency, per, prompt, completion, usd_krw: usdKrw, margin_percent: marginPercent };
}
