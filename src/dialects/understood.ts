import type { Destination } from './dialect.ts';

/** Sent whatever the upstream declares: leaving one out would change what the answer may cost or say. */
const always = new Set(['max_tokens', 'max_completion_tokens', 'stop', 'n', 'user']);

/** The parameters that the destination understands, all of them when it declares nothing. */
export function understood(
  parameters: Readonly<Record<string, unknown>>,
  to: Destination,
): Record<string, unknown> {
  const known = to.supportedParameters;
  if (known === null) return { ...parameters };
  const sent = Object.entries(parameters).filter(([name]) => always.has(name) || isSupported(name, known));
  return Object.fromEntries(sent);
}

/** Parameters that are meaningless by themselves are supported with the one that they belong to. */
function isSupported(name: string, known: ReadonlySet<string>): boolean {
  switch (name) {
    case 'tool_choice':
    case 'parallel_tool_calls':
      return known.has(name) || known.has('tools');
    case 'response_format':
      return known.has(name) || known.has('structured_outputs');
    case 'top_logprobs':
      return known.has(name) || known.has('logprobs');
    default:
      return known.has(name);
  }
}
