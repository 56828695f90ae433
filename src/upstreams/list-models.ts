import { AwsV4Signer } from 'aws4fetch';
import type { ProviderConfig } from '../config/config.ts';
import { type EncodedRequest, noHeaders } from '../dialects/dialect.ts';
import { parseErrorMessage } from '../dialects/parse-error-message.ts';
import { type Cancellation, callUpstream } from './call.ts';
import { revealed } from './open-dialect.ts';
import { openProvider } from './providers.ts';

/** How a provider responded to the request for its models. */
export interface ModelsResponse {
  readonly status: number;
  /** Its message, without our credentials, or what is wrong with a list; empty when it is one. */
  readonly reason: string;
}

const maxBytes = 65_536;

/**
 * Asks a provider for its models, which is free of charge, over a connection like those of calls.
 * Rejects as `callUpstream` does.
 */
export async function listModels(
  config: ProviderConfig,
  cancellation: Cancellation,
): Promise<ModelsResponse> {
  const baseUrl = config.dialect === 'bedrock' ? controlPlane(config.baseUrl) : config.baseUrl;
  const provider = openProvider({ ...config, baseUrl });
  try {
    const written = await listing({ ...config, baseUrl });
    const request = provider.request({ ...written, body: '' });
    const { status, body } = await callUpstream({ ...request, method: 'GET' }, cancellation);
    const read: Buffer[] = [];
    for (let bytes = 0; bytes < maxBytes; ) {
      const taken = await body.next();
      if (taken === null) break;
      read.push(taken);
      bytes += taken.length;
    }
    const text = Buffer.concat(read).toString('utf8');
    // A web site responds with 200 to every path.
    if (status === 200) return { status, reason: /^\s*[{[]/.test(text) ? '' : 'the response is not JSON' };
    return { status, reason: provider.conceal(parseErrorMessage(text)) };
  } finally {
    await provider.close();
  }
}

/** The models of Bedrock are listed at another host than they are called at. */
function controlPlane(baseUrl: string): string {
  return baseUrl.replace(/^(https?:\/\/)bedrock-runtime(?=[-.])/, '$1bedrock');
}

async function listing(config: ProviderConfig): Promise<Omit<EncodedRequest, 'body'>> {
  const headers = revealed(config.headers);
  const key = config.apiKey?.reveal() ?? '';
  switch (config.dialect) {
    case 'openai':
      // OpenRouter lists its models to everybody.
      return {
        path: /^https:\/\/openrouter\.ai\//.test(config.baseUrl) ? '/key' : '/models',
        headers: noHeaders,
      };
    case 'anthropic':
      return {
        path: '/models?limit=1',
        headers: { 'anthropic-version': '2023-06-01', 'x-api-key': key, ...headers },
      };
    case 'google':
      return { path: '/models?pageSize=1', headers: { 'x-goog-api-key': key, ...headers } };
    case 'bedrock':
      return { path: '/foundation-models', headers: { ...headers, ...(await signature(config, key)) } };
  }
}

async function signature(
  { baseUrl, region, accessKeyId, secretAccessKey, sessionToken }: ProviderConfig,
  key: string,
): Promise<Record<string, string>> {
  if (key !== '') return { authorization: `Bearer ${key}` };
  const signer = new AwsV4Signer({
    method: 'GET',
    url: `${baseUrl}/foundation-models`,
    accessKeyId: accessKeyId?.reveal() ?? '',
    secretAccessKey: secretAccessKey?.reveal() ?? '',
    ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
    service: 'bedrock',
    region: region ?? '',
  });
  const { headers } = await signer.sign();
  headers.delete('host');
  return Object.fromEntries(headers);
}
