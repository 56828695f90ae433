import { googleMessages } from '../conversation/rules.ts';
import type { Dialect } from '../dialect.ts';
import type { Access, ProviderCallOptions, ProviderQuirks } from '../sdk/provider-quirks.ts';
import { sdkDialect } from '../sdk/sdk-dialect.ts';

/** The Gemini API of Google. */
export function googleDialect(access: Access): Dialect {
  const { baseUrl, apiKey, headers } = access;
  return sdkDialect({
    name: 'google',
    baseUrl,
    streamType: 'text/event-stream',
    quirks,
    load: async () => {
      const { createGoogle } = await import('@ai-sdk/google');
      return (model, fetch) =>
        createGoogle({ baseURL: baseUrl, apiKey, headers: { ...headers }, fetch }).languageModel(model);
    },
  });
}

const quirks: ProviderQuirks = {
  format: () => 'google-gemini-v1',
  signed: (signature) => ({ google: { thoughtSignature: signature } }),
  // A signature that belongs to neither reasoning nor a call belongs to text.
  encrypted: (data) => ({ google: { thoughtSignature: data } }),
  provenance: ({ google }) => ({ signature: google?.['thoughtSignature'] }),
  reported: ({ google }) => ({ tier: google?.['serviceTier'], cacheWrite1h: undefined }),
  // Its published definition of a request has none.
  tiers: {},
  // Gemini caches by itself.
  cached: () => ({}),
  call: ({ reasoning }: ProviderCallOptions) => ({
    google: {
      ...(reasoning.stated && {
        thinkingConfig: {
          ...(reasoning.budget === null ? {} : { thinkingBudget: reasoning.budget }),
          includeThoughts: reasoning.shown && reasoning.effort !== 'none',
        },
      }),
    },
  }),
  eventTypes: null,
  signsCalls: () => false,
  messages: googleMessages,
  // Its limit includes reasoning, as ours does.
  maxTokensOf: () => null,
};
