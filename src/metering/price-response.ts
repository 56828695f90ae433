import type { Candidate } from '../catalogue/model.ts';
import { zeroKrw } from '../money/krw.ts';
import { billedTierOf, costOf, priceIn, promptCostOf } from '../money/price.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { Bill, Usage } from '../wire/usage.ts';
import { type CountTexts, countPrompt } from './count-tokens.ts';
import { type ReconciledUsage, reconcileUsage } from './reconcile-usage.ts';
import type { ResponseTotals } from './response-totals.ts';

/** The usage of a response and its cost. */
export interface Priced extends ReconciledUsage {
  readonly bill: Bill;
}

/**
 * Prices a response: the upstream's claim as far as it is plausible, at the price version of the
 * candidate that responded, in the service tier that the upstream reports. A promise only when tokens must be counted.
 */
export function priceResponse(
  request: CompletionRequest,
  candidate: Candidate,
  totals: ResponseTotals,
  count: CountTexts,
): Priced | Promise<Priced> {
  const reconciled = reconcileUsage(totals.claim, totals.received, {
    prompt: () => countPrompt(request, undefined, count),
    completion: () => totals.text.tokens(),
  });
  return reconciled instanceof Promise
    ? reconciled.then((counted) => priced(candidate, totals, counted))
    : priced(candidate, totals, reconciled);
}

function priced(candidate: Candidate, totals: ResponseTotals, { usage, source }: ReconciledUsage): Priced {
  const bill = isFree(totals, usage)
    ? { cost: zeroKrw, promptCost: zeroKrw }
    : billOf(candidate, totals, usage);
  return { usage, source, bill };
}

/** An empty response is free (spec:money/4.6): no content, no tokens and no finish reason. */
function isFree(totals: ResponseTotals, usage: Usage): boolean {
  return !totals.hasContent && usage.completionTokens === 0 && totals.finishReason === null;
}

function billOf({ price: stated }: Candidate, { serviceTier }: ResponseTotals, usage: Usage): Bill {
  const price = priceIn(stated, billedTierOf(stated, serviceTier));
  return { cost: costOf(price, usage), promptCost: promptCostOf(price, usage) };
}
