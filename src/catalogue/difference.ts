import { isDeepStrictEqual } from 'node:util';
import type { CandidateConfig, Config } from '../config/config.ts';
import type { StatedPrice } from '../config/schema-prices.ts';
import { type Price, priceIn, rateIn, usageClasses } from '../money/price.ts';
import type { PriceVersion } from './prices-sql.ts';

/** One candidate of one model, as a configuration offers it. */
export interface ConfiguredPrice {
  readonly model: string;
  /** Unique within the model. */
  readonly candidate: string;
  readonly price: Price;
  readonly stated: StatedPrice;
}

/** What a configuration offers, candidate by candidate. */
export function offeredBy(config: Config): readonly ConfiguredPrice[] {
  return config.models.flatMap((model) =>
    model.candidates.map((candidate) => ({
      model: model.id,
      candidate: labelOf(candidate),
      price: candidate.price,
      stated: candidate.stated,
    })),
  );
}

/** The candidate's name within its model: `slot/<name>` or `<provider slug>/<upstream model>`. */
export function labelOf({ target }: CandidateConfig): string {
  return target.kind === 'slot' ? `slot/${target.slot}` : `${target.provider}/${target.model}`;
}

/**
 * A change of a configuration against what is published. `before` and `after` are null where there
 * is none.
 */
export interface CatalogueChange {
  readonly change: 'model_added' | 'model_gone' | 'candidate_added' | 'candidate_gone' | 'price_changed';
  readonly model: string;
  readonly candidate: string;
  readonly before: PriceVersion | null;
  readonly after: ConfiguredPrice | null;
}

/**
 * The changes, model by model in the order of the configuration, then the removed ones. A price
 * changes when its rates do, and when a price in dollars is converted otherwise, even if the result
 * in won is the same.
 */
export function differenceOf(
  published: readonly PriceVersion[],
  offered: readonly ConfiguredPrice[],
): readonly CatalogueChange[] {
  const before = new Map(published.map((version) => [offerKey(version), version]));
  const after = new Set(offered.map(offerKey));
  const [oldModels, newModels] = [modelsOf(published), modelsOf(offered)];
  const changes: CatalogueChange[] = [];
  for (const offer of offered) {
    const { model, candidate } = offer;
    const version = before.get(offerKey(offer)) ?? null;
    if (version !== null && isSamePrice(version, offer)) continue;
    const added = oldModels.has(model) ? 'candidate_added' : 'model_added';
    const change = version === null ? added : 'price_changed';
    changes.push({ change, model, candidate, before: version, after: offer });
  }
  for (const version of published) {
    if (after.has(offerKey(version))) continue;
    const { model, candidate } = version;
    const change = newModels.has(model) ? 'candidate_gone' : 'model_gone';
    changes.push({ change, model, candidate, before: version, after: null });
  }
  return changes;
}

/**
 * Whether a published version is this price: the same won, if they come from dollars, from the same
 * rate and margin, and the same price of the upstream.
 */
export function isSamePrice({ price, stated }: PriceVersion, offer: ConfiguredPrice): boolean {
  return (
    isDeepStrictEqual(price, offer.price) &&
    stated.currency === offer.stated.currency &&
    stated.usdKrw === offer.stated.usdKrw &&
    stated.marginPercent === offer.stated.marginPercent &&
    isDeepStrictEqual(stated.upstream, offer.stated.upstream)
  );
}

/**
 * Whether a rate changes by more than a factor of ten, either way, or to or from nothing. Where a
 * tier or a class has no row, it is billed by the ordinary one.
 */
export function isLargeChange({ before, after }: CatalogueChange): boolean {
  if (before === null || after === null) return false;
  const tiers = [null, ...Object.keys({ ...before.price.tiers, ...after.price.tiers })];
  return tiers.some((tier) =>
    usageClasses.some((name) => {
      const [old, now] = [
        rateIn(priceIn(before.price, tier), name),
        rateIn(priceIn(after.price, tier), name),
      ];
      return now > 10n * old || old > 10n * now;
    }),
  );
}

/** The name of a candidate of a model among all of them. A model id contains no space. */
export function offerKey({
  model,
  candidate,
}: {
  readonly model: string;
  readonly candidate: string;
}): string {
  return `${model} ${candidate}`;
}

function modelsOf(offers: readonly { readonly model: string }[]): ReadonlySet<string> {
  return new Set(offers.map((offer) => offer.model));
}
