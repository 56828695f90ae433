import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

/** A file with one provider of these members, each on its own line, from line 2 on. */
function withProvider(...members: readonly string[]): string {
  return `providers:\n  - ${['slug: p', 'base_url: https://h', ...members].join('\n    ')}\n`;
}

/** The text has these faults and no others. */
function hasFaults(text: string, ...faults: readonly string[]): void {
  assert.deepEqual(
    faultsOf(text),
    faults.map((fault) => `naru.yaml:${fault}`),
  );
}

test('bedrock needs a region and one credential', () => {
  hasFaults(
    withProvider('dialect: bedrock'),
    '2:5 providers[0]: needs region: bedrock endpoints are regional',
    '2:5 providers[0]: needs one of api_key and access_key_id',
  );
  hasFaults(
    withProvider(
      'dialect: bedrock',
      'region: us-east-1',
      'api_key: k',
      'access_key_id: a',
      'secret_access_key: s',
    ),
    '2:5 providers[0]: needs only one of api_key and access_key_id',
  );
  hasFaults(
    withProvider('dialect: bedrock', 'region: us-east-1', 'access_key_id: a'),
    '2:5 providers[0]: needs secret_access_key: the two are one credential',
  );
  hasFaults(
    withProvider('dialect: bedrock', 'region: us-east-1', 'api_key: k', 'secret_access_key: s'),
    '2:5 providers[0]: needs access_key_id: the two are one credential',
  );
  hasFaults(
    withProvider('dialect: bedrock', 'region: us-east-1', 'api_key: k', 'session_token: t'),
    '7:5 providers[0].session_token: needs access_key_id: it is part of that credential',
  );
  hasFaults(
    withProvider('dialect: bedrock', 'region: somewhere', 'api_key: k'),
    '5:13 providers[0].region: must be a region such as us-east-1, not "somewhere"',
  );
});

test('either credential works for bedrock', () => {
  const [byKey] = configOf(withProvider('dialect: bedrock', 'region: eu-west-1', 'api_key: k')).providers;
  assert.equal(byKey?.region, 'eu-west-1');
  assert.equal(byKey?.accessKeyId, null);
  const signing = ['region: us-gov-west-1', 'access_key_id: a', 'secret_access_key: s'];
  const [signed] = configOf(withProvider('dialect: bedrock', ...signing)).providers;
  assert.equal(signed?.secretAccessKey?.reveal(), 's');
});

test('members of bedrock are faults on other providers', () => {
  for (const dialect of ['openai', 'anthropic', 'google']) {
    hasFaults(
      withProvider(`dialect: ${dialect}`, 'region: us-east-1', 'access_key_id: a'),
      '5:5 providers[0].region: applies to the dialect bedrock only',
      '6:5 providers[0].access_key_id: applies to the dialect bedrock only',
    );
  }
});
