/** How much a model should reason. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** The reasoning options of a request. */
export interface ReasoningOptions {
  /** Whether the request sets any. */
  readonly stated: boolean;
  readonly effort: Effort | null;
  /** Tokens for reasoning. */
  readonly budget: number | null;
  /** Whether the request only turns reasoning on or off. */
  readonly isSwitch: boolean;
  /** Whether the response includes the reasoning. */
  readonly shown: boolean;
}

/** The share of the completion that an effort may use for reasoning, as in OpenRouter. */
const shares: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
/** The minimum reasoning budget. */
const minBudget = 1024;

/** The parameters that control reasoning. */
export const reasoningParameters = [
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'thinking',
  'enable_thinking',
] as const;

/** Whether a parameter controls reasoning, or the template that does. */
export function isOfReasoning(name: string): boolean {
  return name === 'chat_template_kwargs' || (reasoningParameters as readonly string[]).includes(name);
}

/** Reads `reasoning`, the two parameters that it replaced, and the two of other APIs. */
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
 * The same options with a budget that leaves room for a response within `maxTokens`; without
 * reasoning when there is not enough room.
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
