import type { MappingOf } from '../mapping.ts';
import type { provider } from '../schema-providers.ts';

const awsMembers = ['region', 'access_key_id', 'secret_access_key', 'session_token'] as const;

/**
 * Reports a reserved name, and the members that the dialect of a provider requires or does not use.
 */
export function checkProvider(row: MappingOf<typeof provider>): void {
  if (/^naru(?:\/|$)/i.test(row.text('slug') ?? ''))
    row.addAt('slug', 'the slug "naru" belongs to the slots: use another name');
  if (row.text('dialect') !== 'openai' && row.states('variant'))
    row.addAtName('variant', 'applies to the dialect openai only');
  if (row.text('dialect') === 'bedrock') checkBedrock(row);
  else {
    for (const name of awsMembers) {
      if (row.states(name)) row.addAtName(name, 'applies to the dialect bedrock only');
    }
  }
}

function checkBedrock(row: MappingOf<typeof provider>): void {
  if (!row.states('region')) row.add('needs region: bedrock endpoints are regional');
  const hasId = row.states('access_key_id');
  if (hasId !== row.states('secret_access_key'))
    row.add(`needs ${hasId ? 'secret_access_key' : 'access_key_id'}: the two are one credential`);
  if (hasId === row.states('api_key'))
    row.add(`needs ${hasId ? 'only one of' : 'one of'} api_key and access_key_id`);
  if (row.states('session_token') && !hasId)
    row.addAtName('session_token', 'needs access_key_id: it is part of that credential');
}
