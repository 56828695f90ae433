/** How much a model is to think. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** What a request says of thinking. */
export interface ReasoningOptions {
  /** Whether it says anything at all. */
  readonly stated: boolean;
  readonly effort: Effort | null;
  /** Tokens to think with. */
  readonly budget: number | null;
  /** Whether it says no more than that there is to be thinking, or none. */
  readonly isSwitch: boolean;
  /** Whether thoughts are part of the answer. */
  readonly shown: boolean;
}

/** What part of the completion an effort may think with, as OpenRouter has it. */
const shares: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
/** The least that thinking takes where it is given a budget. */
const minBudget = 1024;

/** The parameters that say how a model is to think. */
export const reasoningParameters = [
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'thinking',
  'enable_thinking',
] as const;

/** Reads `reasoning`, the two parameters that it replaced, and the two that other APIs have for it. */
export function readReasoning(parameters: Readonly<Record<string, unknown>>): ReasoningOptions {
  const { reasoning, reasoning_effort: oldEffort, include_reasoning: include, thinking } = parameters;
  const member = (reasoning ?? {}) as {
    readonly effort?: unknown;
    readonly max_tokens?: unknown;
    readonly exclude?: unknown;
    readonly enabled?: unknown;
  };
  const { type, budget_tokens: tokens } = (thinking ?? {}) as {
    readonly type?: unknown;
    readonly budget_tokens?: unknown;
  };
  const switches = [member.enabled, switchOf(type), parameters['enable_thinking']];
  const enabled = switches.find((value) => typeof value === 'boolean');
  const stated = effortOf(member.effort) ?? effortOf(oldEffort);
  const effort = stated ?? (enabled === undefined ? null : enabled ? 'medium' : 'none');
  const budget = enabled === false ? null : (positive(member.max_tokens) ?? positive(tokens));
  return {
    stated: effort !== null || budget !== null || include === true,
    effort: budget === null ? effort : null,
    budget,
    isSwitch: stated === null && budget === null,
    shown: member.exclude !== true && include !== false,
  };
}

/**
 * The same wish with a budget that leaves room for an answer within `maxTokens`; without thinking when there is not room enough.
 */
export function withinTokens(options: ReasoningOptions, maxTokens: number): ReasoningOptions {
  const share = options.effort === null || options.effort === 'none' ? shares.medium : shares[options.effort];
  const wanted = Math.max(minBudget, options.budget ?? Math.floor(maxTokens * share));
  const budget = Math.min(wanted, maxTokens - 1);
  if (budget < minBudget) return { ...options, effort: 'none', budget: null };
  return { ...options, effort: null, budget };
}

function switchOf(type: unknown): boolean | undefined {
  return type === 'disabled' ? false : type === 'enabled' || type === 'adaptive' ? true : undefined;
}

function positive(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
}

function effortOf(value: unknown): Effort | null {
  return value === 'none' || (typeof value === 'string' && Object.hasOwn(shares, value))
    ? (value as Effort)
    : null;
}
