import type { Ask, UsageClaim } from '../wire/chat.ts';
import type { Usage } from '../wire/usage.ts';
import { type CountTexts, countPrompt, countTexts, leastTokens } from './count-tokens.ts';
import { promptTexts } from './measure-input.ts';

/** Counts that may be billed, and where they come from. */
export interface Believed {
  readonly usage: Usage;
  readonly source: 'upstream' | 'counted' | 'clamped';
}

/** A claim is believed up to this factor of our own count, plus the slack (decisions.md A-28). */
const factor = 1.5;
const slack = 64;
/** What one image or recording may cost at the most expensive upstream; only raises what is believed. */
const mostTokensPerMediaPart = 3_000;

/** What the answer consisted of, as far as its tokens can be checked. */
export interface Received {
  readonly texts: readonly string[];
  /** Tokens that the model may have thought without showing them; 0 when it does not reason. */
  readonly mostHiddenTokens: number;
}

/**
 * What to bill of what an upstream claims: the claim itself when it is plausible; our own count where it is missing, zero for
 * something, negative or no number; the most that is plausible where it is absurd.
 */
export async function believe(
  claim: UsageClaim | null,
  ask: Ask,
  received: Received,
  count: CountTexts = countTexts,
): Promise<Believed> {
  const prompt = await believePrompt(claim, ask, count);
  const reasoningTokens = Math.min(countOr(claim?.reasoningTokens, 0), received.mostHiddenTokens);
  const hidden = claim?.uncountedThoughts === true ? received.mostHiddenTokens : reasoningTokens;
  const completion = await believeCompletion(claim, received, { hidden, count });
  const cacheReadTokens = Math.min(countOr(claim?.cacheReadTokens, 0), prompt.tokens);
  const sources = [prompt.source, completion.source];
  return {
    usage: {
      promptTokens: prompt.tokens,
      completionTokens: completion.tokens,
      reasoningTokens: Math.min(reasoningTokens, completion.tokens),
      cacheReadTokens,
      cacheWriteTokens: Math.min(countOr(claim?.cacheWriteTokens, 0), prompt.tokens - cacheReadTokens),
    },
    source: sources.includes('clamped') ? 'clamped' : sources.includes('counted') ? 'counted' : 'upstream',
  };
}

interface Part {
  readonly tokens: number;
  readonly source: Believed['source'];
}

async function believePrompt(claim: UsageClaim | null, ask: Ask, count: CountTexts): Promise<Part> {
  const claimed = countOr(claim?.promptTokens, 0);
  if (claimed === 0) return { tokens: await countPrompt(ask, undefined, count), source: 'counted' };
  const media = ask.mediaParts * mostTokensPerMediaPart;
  if (claimed <= plausible(leastTokens(promptTexts(ask.input, ask.parameters))) + media)
    return { tokens: claimed, source: 'upstream' };
  return clamp(claimed, plausible(await countPrompt(ask, undefined, count)) + media);
}

async function believeCompletion(
  claim: UsageClaim | null,
  received: Received,
  { hidden, count }: { readonly hidden: number; readonly count: CountTexts },
): Promise<Part> {
  const claimed = countOr(claim?.completionTokens, 0);
  const saidSomething = received.texts.some((text) => text !== '');
  if (claimed === 0 && saidSomething) return { tokens: await count(received.texts), source: 'counted' };
  // Without a word received, zero is the truth whether it was claimed or not.
  if (claimed === 0) return { tokens: 0, source: claim === null ? 'counted' : 'upstream' };
  if (claimed <= plausible(leastTokens(received.texts)) + hidden)
    return { tokens: claimed, source: 'upstream' };
  return clamp(claimed, plausible(await count(received.texts)) + hidden);
}

function plausible(count: number): number {
  return Math.floor(count * factor) + slack;
}

function clamp(claimed: number, most: number): Part {
  return claimed <= most ? { tokens: claimed, source: 'upstream' } : { tokens: most, source: 'clamped' };
}

/** A claimed count if it is one: a whole number above zero, in range of the column that it is stored in. */
function countOr(claimed: unknown, otherwise: number): number {
  return typeof claimed === 'number' && Number.isInteger(claimed) && claimed > 0
    ? Math.min(claimed, 2_000_000_000)
    : otherwise;
}
