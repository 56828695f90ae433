import type { ProviderConfig } from '../config/config.ts';
import { anthropicDialect } from '../dialects/anthropic/index.ts';
import { bedrockDialect } from '../dialects/bedrock/index.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { googleDialect } from '../dialects/google/index.ts';
import { openaiDialect } from '../dialects/openai/index.ts';
import type { Access } from '../dialects/sdk/provider-quirks.ts';

/** A provider's dialect, and the headers of every connection to it. */
export interface OpenedDialect {
  readonly dialect: Dialect;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The dialect of a provider. A package-based one writes all headers, including credentials, into
 * each request.
 */
export function openDialect(config: ProviderConfig): OpenedDialect {
  const apiKey = config.apiKey?.reveal() ?? '';
  const headers = revealed(config.headers);
  const access: Access = { baseUrl: config.baseUrl, apiKey, headers };
  switch (config.dialect) {
    case 'openai':
      return {
        dialect: openaiDialect,
        headers: { ...headers, ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }) },
      };
    case 'anthropic':
      return { dialect: anthropicDialect(access), headers: {} };
    case 'google':
      return { dialect: googleDialect(access), headers: {} };
    case 'bedrock':
      return { dialect: bedrockDialect({ ...access, ...awsOf(config) }), headers: {} };
  }
}

/** Every secret of a provider. */
export function secretsOf(config: ProviderConfig): readonly string[] {
  const { apiKey, accessKeyId, secretAccessKey, sessionToken, headers } = config;
  return [apiKey, accessKeyId, secretAccessKey, sessionToken, ...Object.values(headers)].flatMap((secret) =>
    secret === null ? [] : [secret.reveal()],
  );
}

function awsOf(config: ProviderConfig) {
  return {
    region: config.region ?? '',
    accessKeyId: config.accessKeyId?.reveal() ?? '',
    secretAccessKey: config.secretAccessKey?.reveal() ?? '',
    sessionToken: config.sessionToken?.reveal() ?? '',
  };
}

/** Headers with their values. */
export function revealed(headers: ProviderConfig['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
}
