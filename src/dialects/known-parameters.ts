import type { Destination } from './dialect.ts';
import { isOfReasoning, reasoningParameters } from './reasoning.ts';

/** Sent even if not declared: omitting one would change the cost or the content of the response. */
const always = new Set(['max_tokens', 'max_completion_tokens', 'stop', 'n', 'user']);

/**
 * The parameters that the destination supports, all of them when it declares none, except those
 * that the operator drops.
 */
export function knownParameters(
  parameters: Readonly<Record<string, unknown>>,
  to: Destination,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => isKnown(name, to)));
}

/** Whether the destination supports a parameter, and the operator does not drop it. */
export function isKnown(name: string, { supportedParameters: known, overrides }: Destination): boolean {
  return overrides[name] !== 'drop' && (known === null || always.has(name) || isSupported(name, known));
}

/**
 * Whether a parameter is declared. A parameter that needs another one is supported together with
 * it.
 */
export function isSupported(name: string, known: ReadonlySet<string>): boolean {
  switch (name) {
    case 'tool_choice':
    case 'parallel_tool_calls':
      return known.has(name) || known.has('tools');
    case 'response_format':
      return known.has(name) || known.has('structured_outputs');
    case 'top_logprobs':
      return known.has(name) || known.has('logprobs');
    default:
      return known.has(name) || (isOfReasoning(name) && reasoningParameters.some((one) => known.has(one)));
  }
}
