import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authority } from '../harness/authority.ts';
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

// spec:operator/2.9
test('a provider has certificates and a proxy of its own; what is neither is a fault that quotes no password', () => {
  const files = { '/etc/naru/ca.pem': authority };
  const [row] = configOf(
    withProvider('dialect: openai', 'ca: file:ca.pem', 'proxy: "http://u:p@proxy:3128"'),
    {
      files,
    },
  ).providers;
  assert.deepEqual([row?.ca, row?.proxy?.url.reveal()], [authority.trim(), 'http://u:p@proxy:3128']);
  const proxy = 'must be the URL of a proxy, such as http://user:password@proxy.example.com:3128';
  for (const wrong of ['socks5://u:secret@proxy:1', 'proxy:3128', 'http://u:secret@proxy/path'])
    hasFaults(withProvider('dialect: openai', `proxy: "${wrong}"`), `5:12 providers[0].proxy: ${proxy}`);
  for (const wrong of ['/etc/ssl/ca.pem', '"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----"'])
    assert.match(
      faultsOf(withProvider('dialect: openai', `ca: ${wrong}`)).join(),
      /providers\[0\]\.ca: must be certificates in PEM/,
    );
  const env = { https_proxy: 'socks5://u:secret@proxy:1' };
  assert.deepEqual(faultsOf('providers: []', { env }), [
    `naru.yaml:1:1 the environment variable HTTPS_PROXY ${proxy}`,
  ]);
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
