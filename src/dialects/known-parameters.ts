import type { Destination } from './dialect.ts';
import { reasoningParameters } from './reasoning.ts';

/** Sent whatever the upstream declares: leaving one out would change what the answer may cost or say. */
const always = new Set(['max_tokens', 'max_completion_tokens', 'stop', 'n', 'user']);

/** The parameters that the destination understands, all of them when it declares nothing, but for those that the operator drops. */
export function knownParameters(
  parameters: Readonly<Record<string, unknown>>,
  to: Destination,
): Record<string, unknown> {
  const known = to.supportedParameters;
  const sent = Object.entries(parameters).filter(
    ([name]) =>
      to.overrides[name] !== 'drop' && (known === null || always.has(name) || isSupported(name, known)),
  );
  return Object.fromEntries(sent);
}

/** Whether a parameter is among those that are declared. One that is meaningless by itself is supported with the one that it belongs to. */
export function isSupported(name: string, known: ReadonlySet<string>): boolean {
  switch (name) {
    case 'tool_choice':
    case 'parallel_tool_calls':
      return known.has(name) || known.has('tools');
    case 'response_format':
      return known.has(name) || known.has('structured_outputs');
    case 'top_logprobs':
      return known.has(name) || known.has('logprobs');
    case 'reasoning':
    case 'reasoning_effort':
    case 'include_reasoning':
    case 'thinking':
    case 'enable_thinking':
    case 'chat_template_kwargs':
      return known.has(name) || reasoningParameters.some((one) => known.has(one));
    default:
      return known.has(name);
  }
}
