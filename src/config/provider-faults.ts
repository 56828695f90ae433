import type { Path } from './fault.ts';
import type { SourceMap } from './source-map.ts';
import { has, type Members, textOf } from './tree.ts';

const awsMembers = ['region', 'access_key_id', 'secret_access_key', 'session_token'];

/** Reports the members of a provider that its dialect requires or does not use. */
export function addProviderFaults(provider: Members, path: Path, sourceMap: SourceMap): void {
  if (textOf(provider, 'dialect') !== 'openai' && has(provider, 'variant'))
    sourceMap.add([...path, 'variant'], 'applies to the dialect openai only', 'name');
  if (textOf(provider, 'dialect') !== 'bedrock') {
    for (const name of awsMembers) {
      if (has(provider, name)) sourceMap.add([...path, name], 'applies to the dialect bedrock only', 'name');
    }
    return;
  }
  if (!has(provider, 'region')) sourceMap.add(path, 'needs region: bedrock endpoints are regional');
  const hasId = has(provider, 'access_key_id');
  if (hasId !== has(provider, 'secret_access_key'))
    sourceMap.add(path, `needs ${hasId ? 'secret_access_key' : 'access_key_id'}: the two are one credential`);
  if (hasId === has(provider, 'api_key'))
    sourceMap.add(path, `needs ${hasId ? 'only one of' : 'one of'} api_key and access_key_id`);
  if (has(provider, 'session_token') && !hasId)
    sourceMap.add([...path, 'session_token'], 'needs access_key_id: it is part of that credential', 'name');
}
