import { reasoningParameters } from '../reasoning.ts';

/** The parameters that the packages' calls support, all together. */
export const sdkParameters: ReadonlySet<string> = new Set([
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'n', 'seed', 'stop'],
  ...['presence_penalty', 'frequency_penalty', 'response_format', 'structured_outputs', 'user'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'cache_control', 'service_tier', ...reasoningParameters],
]);

/** Of these, what one package does not send, whatever its value; a tier only where it has a price. */
export const unsentBy: Readonly<Record<'anthropic' | 'google' | 'bedrock', readonly string[]>> = {
  anthropic: ['n', 'seed', 'presence_penalty', 'frequency_penalty', 'structured_outputs'],
  google: ['n', 'user', 'parallel_tool_calls', 'cache_control', 'service_tier', 'structured_outputs'],
  bedrock: [
    ...['n', 'seed', 'presence_penalty', 'frequency_penalty', 'structured_outputs'],
    ...['user', 'cache_control'],
  ],
};
