import { memberIn } from '../../wire/json.ts';
import { bedrockMessages } from '../conversation/rules.ts';
import type { Dialect } from '../dialect.ts';
import type { Access, ProviderCallOptions, ProviderQuirks } from '../sdk/provider-quirks.ts';
import { sdkDialect } from '../sdk/sdk-dialect.ts';

/** Credentials to sign AWS requests where there is no API key; absent ones are empty strings. */
export interface AwsAccess extends Access {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** The Converse API of Amazon Bedrock. */
export function bedrockDialect(access: AwsAccess): Dialect {
  const { baseUrl, apiKey, headers, region, accessKeyId, secretAccessKey, sessionToken } = access;
  return sdkDialect({
    name: 'bedrock',
    baseUrl,
    streamType: 'application/vnd.amazon.eventstream',
    quirks,
    load: async () => {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
      const keys = { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) };
      const settings = { baseURL: baseUrl, apiKey, headers: { ...headers }, region, ...keys };
      return (model, fetch) => createAmazonBedrock({ ...settings, fetch }).languageModel(model);
    },
  });
}

const quirks: ProviderQuirks = {
  format: (model) => (/anthropic|claude/.test(model) ? 'anthropic-claude-v1' : 'unknown'),
  signed: (signature) => ({ amazonBedrock: { signature } }),
  encrypted: (data) => ({ amazonBedrock: { redactedContent: data } }),
  provenance: ({ amazonBedrock }) => ({
    signature: amazonBedrock?.['signature'],
    encrypted: amazonBedrock?.['redactedContent'] ?? amazonBedrock?.['redactedData'],
  }),
  reported: ({ amazonBedrock }) => ({
    tier: memberIn(amazonBedrock?.['serviceTier'], 'type'),
    cacheWrite1h: writtenForAnHour(memberIn(amazonBedrock?.['usage'], 'cacheDetails')),
  }),
  tiers: { priority: 'priority', flex: 'flex', reserved: 'reserved' },
  cached: ({ ttl }) => ({
    amazonBedrock: { cachePoint: { type: 'default', ...(ttl === undefined ? {} : { ttl }) } },
  }),
  call: ({ reasoning, parallelToolCalls, serviceTier }: ProviderCallOptions) => ({
    amazonBedrock: {
      ...(reasoning.budget === null
        ? {}
        : { reasoningConfig: { type: 'enabled', budgetTokens: reasoning.budget } }),
      ...(serviceTier === null ? {} : { serviceTier }),
    },
    anthropic: parallelToolCalls === null ? {} : { disableParallelToolUse: !parallelToolCalls },
  }),
  eventTypes: null,
  signsCalls: (model) => /anthropic|claude/.test(model),
  messages: bedrockMessages,
  maxTokensOf: ({ inferenceConfig }) => {
    const maxTokens = (inferenceConfig as { readonly maxTokens?: unknown } | undefined)?.maxTokens;
    return typeof maxTokens === 'number' ? maxTokens : null;
  },
};

function writtenForAnHour(details: unknown): unknown {
  const found = Array.isArray(details) ? details.find((each) => memberIn(each, 'ttl') === '1h') : undefined;
  return memberIn(found, 'inputTokens');
}
