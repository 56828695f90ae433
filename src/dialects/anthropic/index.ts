import { memberIn } from '../../wire/json.ts';
import { anthropicMessages } from '../conversation/rules.ts';
import type { Dialect } from '../dialect.ts';
import type { Access, ProviderCallOptions, ProviderQuirks } from '../sdk/provider-quirks.ts';
import { sdkDialect } from '../sdk/sdk-dialect.ts';

/** The Messages API of Anthropic and compatible services. */
export function anthropicDialect(access: Access): Dialect {
  const { baseUrl, apiKey, headers } = access;
  return sdkDialect({
    name: 'anthropic',
    baseUrl,
    streamType: 'text/event-stream',
    quirks,
    load: async () => {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return (model, fetch) =>
        createAnthropic({ baseURL: baseUrl, apiKey, headers, fetch }).languageModel(model);
    },
  });
}

const quirks: ProviderQuirks = {
  format: () => 'anthropic-claude-v1',
  signed: (signature) => ({ anthropic: { signature } }),
  encrypted: (data) => ({ anthropic: { redactedData: data } }),
  provenance: ({ anthropic }) => ({
    signature: anthropic?.['signature'],
    encrypted: anthropic?.['redactedData'],
  }),
  reported: ({ anthropic }) => ({
    tier: anthropic?.['serviceTier'],
    cacheWrite1h: memberIn(memberIn(anthropic?.['usage'], 'cache_creation'), 'ephemeral_1h_input_tokens'),
  }),
  // Its priority tier is that of a contract, where it has capacity.
  tiers: { priority: 'auto' },
  cached: (control) => ({ anthropic: { cacheControl: { ...control } } }),
  call: ({ reasoning, parallelToolCalls, cacheControl, user, serviceTier }: ProviderCallOptions) => ({
    anthropic: {
      ...(reasoning.budget === null ? {} : { thinking: { type: 'enabled', budgetTokens: reasoning.budget } }),
      ...(parallelToolCalls === null ? {} : { disableParallelToolUse: !parallelToolCalls }),
      ...(cacheControl === null ? {} : { cacheControl: { ...cacheControl } }),
      ...(user === null ? {} : { metadata: { userId: user } }),
      ...(serviceTier === null ? {} : { serviceTier }),
    },
  }),
  eventTypes: new Set([
    ...['message_start', 'message_delta', 'message_stop', 'ping', 'error'],
    ...['content_block_start', 'content_block_delta', 'content_block_stop'],
  ]),
  signsCalls: () => true,
  messages: anthropicMessages,
  maxTokensOf: ({ max_tokens: maxTokens }) => (typeof maxTokens === 'number' ? maxTokens : null),
};
