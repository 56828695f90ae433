import { reasoningParameters } from '../reasoning.ts';

/** The parameters that the packages' calls support. */
export const sdkParameters: ReadonlySet<string> = new Set([
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'n', 'seed', 'stop'],
  ...['presence_penalty', 'frequency_penalty', 'response_format', 'structured_outputs', 'user'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'cache_control', ...reasoningParameters],
]);
