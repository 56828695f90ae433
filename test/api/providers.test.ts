/** `GET /providers` (spec:compat/12). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway, type TestGatewayOptions } from '../harness/gateway.ts';
import { assertCommonHeaders } from '../harness/response-rules.ts';

const pages = {
  privacy_policy_url: 'https://acme.example/privacy',
  terms_of_service_url: 'https://acme.example/terms',
  status_page_url: 'https://status.acme.example',
};
const provider = { dialect: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'acme-secret' };
const none = {
  privacy_policy_url: null,
  terms_of_service_url: null,
  status_page_url: null,
  headquarters: null,
  datacenters: null,
};

async function providersOf(
  config: NonNullable<TestGatewayOptions['config']>,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const naru = await startTestGateway({ config });
  try {
    const response = await naru.send('GET', '/providers', { headers });
    assert.equal(response.status, 200);
    assertCommonHeaders(response);
    assert.doesNotMatch(response.text, /secret|127\.0\.0\.1/);
    return response.json;
  } finally {
    await naru.close();
  }
}

// spec:conformance/6,24,25
test('the providers are those of the configuration, with their pages, without a credential', async () => {
  const providers = [
    { slug: 'acme', name: 'Acme 인공지능', ...pages, ...provider },
    { slug: 'plain', ...provider },
  ] as unknown as object;
  assert.deepEqual(await providersOf({ providers }, { authorization: 'Bearer garbage' }), {
    data: [
      { name: 'Acme 인공지능', slug: 'acme', ...pages, headquarters: null, datacenters: null },
      { name: 'plain', slug: 'plain', ...none },
    ],
  });
});

test('all own slots are one provider', async () => {
  const slots = ['a', 'b'].map((name) => ({
    name,
    external: { base_url: 'http://127.0.0.1:9' },
  })) as unknown as object;
  assert.deepEqual(await providersOf({ slots }), { data: [{ name: 'Naru', slug: 'naru', ...none }] });
});

test('a gateway without providers has an empty list', async () => {
  assert.deepEqual(await providersOf({}), { data: [] });
});
