import { isDeepStrictEqual } from 'node:util';
import type { CompletionKind } from '../../wire/chat.ts';
import { isForced } from '../conversation/tools.ts';
import type { Destination, ParameterChange } from '../dialect.ts';
import { isKnown, knownParameters } from '../known-parameters.ts';
import {
  type Effort,
  isOfReasoning,
  type ReasoningOptions,
  readReasoning,
  reasoningParameters,
} from '../reasoning.ts';
import type { Conversion, Efforts, ParameterRules, ThinkingRules } from './providers.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** The parameters of a request in an API's format, and the changes made. */
export interface Translated {
  readonly parameters: Parameters;
  readonly changes: readonly ParameterChange[];
}

/** The parameters of text completions that chat completions lack. */
const textParameters = ['max_tokens', 'logprobs', 'best_of', 'echo', 'suffix', 'n', 'seed', 'user'];

const levels: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** A parameter in translation: the client's name of it, and the API's. */
interface Entry {
  readonly from: string;
  readonly name: string;
  readonly value: unknown;
}

/**
 * Translates the parameters of a request for an API: omits what the destination does not support or
 * the API rejects, renames what the API names differently, and converts the reasoning parameters.
 * The operator's overrides take precedence.
 */
export function translate(
  given: Parameters,
  kind: CompletionKind,
  rules: ParameterRules,
  to: Destination,
): Translated {
  if (isUnchanged(given, kind, rules, to)) return { parameters: given, changes: noChanges };
  const overridden = overrides(given, to);
  const own = Object.fromEntries(
    Object.entries(given).filter(([name]) => !Object.hasOwn(to.overrides, name)),
  );
  const known = knownParameters(own, to);
  const mayThink = rules.thinksBesideForcedTool || !isForced(known['tool_choice']);
  const thinking = kind === 'chat' ? thinkingParameters(mayThink ? known : noThought, rules.thinking) : {};
  const isFree = rules.freeWithoutThinking && thinking['reasoning_effort'] === 'none';
  const plain = Object.entries(known)
    .filter(([name]) => !isReplaced(name, rules.thinking, kind))
    .map(([name, value]): Entry => ({ from: name, name, value }))
    .flatMap((entry) => limited(entry, known, kind, rules))
    .map((entry) => ({ ...entry, name: rules.renames[entry.name] ?? entry.name }))
    .flatMap((entry) => converted(entry, known, rules.converts))
    .filter(({ name, value }) => isSent(name, value, kind, { rules, isFree }));
  const sent = {
    ...Object.fromEntries(plain.map(({ name, value }) => [name, value])),
    ...thinking,
    ...Object.fromEntries(overridden.map(({ name, value }) => [name, value])),
  };
  return {
    parameters: sent,
    changes: changesOf(given, sent, [...plain, ...overridden], Object.keys(thinking)),
  };
}

/** A request that turns reasoning off. */
const noThought: Parameters = { reasoning: { enabled: false } };
const noChanges: readonly ParameterChange[] = [];

/** Whether no rule, declaration or override is about any parameter of a request: most requests. */
function isUnchanged(
  given: Parameters,
  kind: CompletionKind,
  rules: ParameterRules,
  to: Destination,
): boolean {
  for (const name in given) {
    if (!isKnown(name, to) || Object.hasOwn(to.overrides, name)) return false;
    if (rules.thinking.as !== 'given' && isOfReasoning(name)) return false;
    if (name === 'tool_choice' && !rules.thinksBesideForcedTool) return false;
    if (rules.limit !== null && isLimit(name)) return false;
    if (name in rules.renames || name in rules.converts || name in rules.only) return false;
    if (!isAccepted(name, kind, rules)) return false;
  }
  return true;
}

/** The parameters that an API accepts of these, with any value, by the clients' names. */
export function acceptedOf(names: readonly string[], rules: ParameterRules): readonly string[] {
  return names.filter((name) => {
    if (isReplaced(name, rules.thinking, 'chat'))
      return rules.thinking.as !== 'none' && name !== 'include_reasoning';
    const own = isLimit(name) ? (rules.limit ?? name) : (rules.renames[name] ?? name);
    return !(rules.only[own]?.length === 0) && isAccepted(own, 'chat', rules);
  });
}

function overrides(given: Parameters, { overrides: wanted }: Destination): readonly Entry[] {
  return Object.entries(wanted).flatMap(([from, target]) =>
    target === 'drop' || given[from] === undefined
      ? []
      : [{ from, name: target === 'keep' ? from : target, value: given[from] }],
  );
}

/** Whether the reasoning parameters replace this one. */
function isReplaced(name: string, thinking: ThinkingRules, kind: CompletionKind): boolean {
  if (thinking.as === 'given') return false;
  if (name === 'chat_template_kwargs') return kind === 'chat' && thinking.as === 'template';
  // An engine supports it and hides its reasoning.
  if (name === 'include_reasoning' && thinking.as === 'template') return false;
  return (reasoningParameters as readonly string[]).includes(name);
}

/** Merges the completion limits, where an API has one name for them. */
function limited(
  entry: Entry,
  known: Parameters,
  kind: CompletionKind,
  { limit }: ParameterRules,
): readonly Entry[] {
  const name = kind === 'text' && limit !== null ? 'max_tokens' : limit;
  if (!isLimit(entry.name) || name === null) return [entry];
  const isBoth = known['max_tokens'] !== undefined && known['max_completion_tokens'] !== undefined;
  return isBoth && entry.name === 'max_tokens' ? [] : [{ ...entry, name }];
}

function isLimit(name: string): boolean {
  return name === 'max_tokens' || name === 'max_completion_tokens';
}

function converted(
  entry: Entry,
  known: Parameters,
  converts: Readonly<Record<string, Conversion>>,
): readonly Entry[] {
  const { name, value } = entry;
  switch (converts[name]) {
    case 'json_schema':
      return typeOf(value) === 'json_object' ? [] : [entry];
    case 'word':
      return [typeof value === 'string' ? entry : { ...entry, value: 'required' }];
    case 'count':
      if (typeof value !== 'boolean') return [entry];
      return value ? [{ ...entry, value: known['top_logprobs'] ?? 1 }] : [];
    case 'list':
      return [Array.isArray(value) ? entry : { ...entry, value: [value] }];
    default:
      return [entry];
  }
}

function typeOf(format: unknown): unknown {
  return (format as { readonly type?: unknown }).type;
}

function isSent(
  name: string,
  value: unknown,
  kind: CompletionKind,
  { rules, isFree }: { readonly rules: ParameterRules; readonly isFree: boolean },
): boolean {
  const values = isFree || kind === 'text' ? undefined : rules.only[name];
  return isAccepted(name, kind, rules) && (values === undefined || values.includes(value));
}

function isAccepted(name: string, kind: CompletionKind, { accepts, refuses }: ParameterRules): boolean {
  if (refuses.includes(name)) return false;
  return accepts === null || accepts.includes(name) || (kind === 'text' && textParameters.includes(name));
}

/** The amount of reasoning, in the API's format. */
function thinkingParameters(known: Parameters, rules: ThinkingRules): Parameters {
  if (rules.as === 'given' || rules.as === 'none') return {};
  const options = readReasoning(known);
  const template = templateArguments(known, options);
  if (options.effort === null && options.budget === null) return rules.as === 'template' ? template : {};
  const thinks = options.effort !== 'none';
  const effort = effortOf(options, rules.efforts);
  // A mere on/off is sent as a switch, where there is one.
  const isStated = effort !== null && (rules.as === 'effort' || !options.isSwitch);
  const stated = isStated ? { reasoning_effort: effort } : {};
  switch (rules.as) {
    case 'effort':
      return stated;
    case 'thinking':
      return { thinking: { type: thinks ? 'enabled' : 'disabled' }, ...(thinks ? stated : {}) };
    case 'reasoning':
      return { reasoning: { enabled: thinks }, ...(thinks ? stated : {}) };
    case 'template':
      return { ...template, ...(thinks ? stated : {}) };
  }
}

/**
 * Arguments for the model's template: models use one of two names for the switch. The client's own
 * arguments take precedence.
 */
function templateArguments(
  { chat_template_kwargs: given }: Parameters,
  options: ReasoningOptions,
): Parameters {
  const thinks = options.effort !== 'none';
  const isStated = options.effort !== null || options.budget !== null;
  const own = isStated ? { enable_thinking: thinks, thinking: thinks } : {};
  const all = { ...own, ...(given as object | undefined) };
  return Object.keys(all).length === 0 ? {} : { chat_template_kwargs: all };
}

/** The API's name of its nearest level; null when it has none. */
function effortOf({ effort, budget }: ReasoningOptions, message: Efforts): string | null {
  const wanted = effort ?? (budget === null ? null : effortOfBudget(budget));
  const has = levels.filter((level) => message[level] !== undefined);
  if (wanted === null) return null;
  const [lowest] = has;
  if (wanted === 'none') return lowest === undefined ? null : (message[lowest] ?? null);
  const at = levels.indexOf(wanted);
  const thinking = has.filter((level) => level !== 'none');
  const nearest = thinking.reduce<Effort | null>((best, level) => {
    if (best === null) return level;
    const isNearer = Math.abs(levels.indexOf(level) - at) < Math.abs(levels.indexOf(best) - at);
    return isNearer ? level : best;
  }, null);
  return nearest === null ? null : (message[nearest] ?? null);
}

function effortOfBudget(tokens: number): Effort {
  if (tokens <= 2048) return 'low';
  return tokens <= 8192 ? 'medium' : 'high';
}

function changesOf(
  given: Parameters,
  sent: Parameters,
  entries: readonly Entry[],
  thinking: readonly string[],
): readonly ParameterChange[] {
  return Object.keys(given).flatMap((parameter): readonly ParameterChange[] => {
    if (Object.hasOwn(sent, parameter)) {
      return isDeepStrictEqual(sent[parameter], given[parameter]) ? [] : [{ parameter, change: 'changed' }];
    }
    const entry = entries.find(({ from }) => from === parameter);
    const to = entry?.name ?? (isOfReasoning(parameter) ? thinking[0] : undefined);
    return [to === undefined ? { parameter, change: 'dropped' } : { parameter, change: 'renamed', to }];
  });
}
