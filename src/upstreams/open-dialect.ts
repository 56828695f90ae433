import type { ProviderConfig } from '../config/config.ts';
import type { Secret } from '../config/secret.ts';
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
export function secretsOf({ apiKey, aws, headers }: ProviderConfig): readonly string[] {
  const keys = [apiKey, aws?.accessKeyId, aws?.secretAccessKey, aws?.sessionToken];
  return [...keys, ...Object.values(headers)]
    .map((secret) => secret?.reveal() ?? '')
    .filter((text) => text !== '');
}

function awsOf({
  aws,
}: ProviderConfig): Record<'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken', string> {
  const text = (secret: Secret | null | undefined): string => secret?.reveal() ?? '';
  return {
    region: aws?.region ?? '',
    accessKeyId: text(aws?.accessKeyId),
    secretAccessKey: text(aws?.secretAccessKey),
    sessionToken: text(aws?.sessionToken),
  };
}

function revealed(headers: ProviderConfig['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
}
