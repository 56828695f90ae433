/** `GET /key`, `GET /credits` and `GET /generation`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { reply, type Upstream, usage } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: '비밀 질문 needle' }] };
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

serveEcho('1000000', (echo) => {
  ({ upstream, naru, account } = echo);
  upstream.always(reply.chat('비밀 대답 needle', { usage: usage(10, 5) }));
});

const read = (path: string, key: string) => naru.send('GET', path, { key });
const chat = (key = account.key, more: object = {}) =>
  naru.send('POST', '/chat/completions', { key, body: { ...request, ...more } });

/**
 * The fields that OpenRouter's strict client requires of `GET /key` (spec:compat/10.2), and their
 * types.
 */
const keyFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  label: (value) => typeof value === 'string',
  limit: (value) => value === null || typeof value === 'number',
  limit_remaining: (value) => value === null || typeof value === 'number',
  limit_reset: (value) => ['never', 'daily', 'weekly', 'monthly'].includes(String(value)),
  usage: isAmount,
  usage_daily: isAmount,
  usage_weekly: isAmount,
  usage_monthly: isAmount,
  byok_usage: (value) => value === 0,
  byok_usage_daily: (value) => value === 0,
  byok_usage_weekly: (value) => value === 0,
  byok_usage_monthly: (value) => value === 0,
  include_byok_in_limit: (value) => value === false,
  is_free_tier: (value) => value === false,
  is_management_key: (value) => typeof value === 'boolean',
  is_provisioning_key: (value) => typeof value === 'boolean',
  creator_user_id: (value) => value === null,
  organization_id: (value) => value === null,
  workspace_id: (value) =>
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(value)),
  allowed_data_regions: Array.isArray,
  free_model_daily_requests: (value) => JSON.stringify(value) === '{"limit":0,"remaining":0,"used":0}',
  expires_at: (value) => value === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)),
};

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

// spec:conformance/32,38,66,69
test('key information has every field of its type under both paths', async () => {
  const limited = await account.another({
    limit: '100.5',
    limitReset: 'monthly',
    expiresAtMs: Date.parse('2030-01-01T00:00:00Z'),
  });
  const management = await account.another({ kind: 'management' });
  const constants = new Set<string>();
  for (const { key } of [account, limited, management]) {
    const [one, two] = [await read('/key', key), await read('/auth/key', key)];
    assert.equal(one.text, two.text);
    const { data } = one.json;
    for (const [name, holds] of Object.entries(keyFields))
      assert.ok(holds(data[name]), `${name}: ${JSON.stringify(data[name])}`);
    assert.ok('requests' in data.rate_limit && 'interval' in data.rate_limit);
    constants.add(JSON.stringify(data.rate_limit));
    assert.ok(!one.text.includes(key));
  }
  assert.equal(constants.size, 1);
  assert.equal((await read('/key', management.key)).json.data.is_management_key, true);
});

// spec:conformance/55,67,68,71 spec:api/5.9
test('the remaining limit is the limit minus the usage and never negative', async () => {
  const { key } = await account.another({ limit: '50.000001', limitReset: 'weekly' });
  const at = async () => (await read('/key', key)).json.data;
  assert.equal((await at()).limit_remaining, 50.000001);
  await chat(key);
  const data = await at();
  assert.equal(data.limit_remaining, 30.000001);
  assert.equal(data.usage, 20);
  assert.equal(data.usage, data.usage_weekly);
  assert.ok(data.usage_daily <= data.usage_weekly && data.usage_daily <= data.usage_monthly);
  await chat(key);
  await chat(key);
  assert.equal((await at()).limit_remaining, 0);
  assertError(await read('/key', data.label), 401, 'invalid_api_key');
});

// spec:conformance/64
test('a charge is in the usage as soon as its response arrives, before the database has it', async () => {
  const { key } = await account.another();
  for (let n = 1; n <= 5; n += 1) {
    await chat(key);
    assert.equal((await read('/key', key)).json.data.usage, 20 * n);
  }
});

/** Every field that OpenRouter's strict client requires of a record (spec:compat/9). */
const recordFields =
  'id upstream_id request_id session_id created_at model provider_name router app_id preset_id workspace_id external_user origin http_referer user_agent streamed cancelled finish_reason native_finish_reason api_type service_tier data_region is_byok total_cost usage cache_discount upstream_inference_cost latency generation_time moderation_latency tokens_prompt tokens_completion native_tokens_prompt native_tokens_completion native_tokens_completion_images native_tokens_reasoning native_tokens_cached num_media_prompt num_input_audio_prompt num_media_completion num_search_results num_fetches web_search_engine response_cache_source_id provider_responses'.split(
    ' ',
  );

// spec:conformance/39,184,191
test('a record exists as soon as its response arrives, is complete and contains no prompt or response text', async () => {
  for (const more of [{}, { stream: true }]) {
    const response = await chat(account.key, { ...more, user: 'end-user', session_id: 'session-1' });
    const id = response.headers.get('x-service-generation-id');
    const found = await read(`/generation?id=${id}`, account.key);
    assert.equal(found.status, 200);
    const { data } = found.json;
    for (const name of recordFields) assert.ok(name in data, name);
    assert.equal(data.id, id);
    assert.equal(data.total_cost, 20);
    assert.equal(data.usage, 20);
    assert.equal(data.is_byok, false);
    assert.equal(data.streamed, 'stream' in more);
    assert.equal(data.external_user, 'end-user');
    assert.equal(data.session_id, 'session-1');
    assert.equal(typeof data.origin, 'string');
    assert.ok(
      Number.isInteger(data.latency) &&
        Number.isInteger(data.generation_time) &&
        data.latency <= data.generation_time,
    );
    assert.equal(data.provider_name, 'Upstream 1');
    assert.equal(data.provider_responses.length, 1);
    assert.equal(data.provider_responses[0].status, 200);
    assert.deepEqual([data.tokens_prompt, data.tokens_completion], [10, 5]);
    assert.doesNotMatch(found.text, /needle|비밀/);
    await naru.settled();
    assert.deepEqual(
      (await read(`/generation?id=${id}`, account.key)).json,
      found.json,
      'the same from the database',
    );
  }
});

// spec:conformance/187
test('a record request without an id returns 400', async () => {
  for (const query of ['', '?id=', '?ID=x', '?id'])
    assertError(await read(`/generation${query}`, account.key), 400, 'invalid_request');
});

// spec:conformance/188,189
test('an unknown id, a malformed id and an id of another account return the same response; another key of the account may read the record', async () => {
  const otherAccount = await naru.account({ credit: '1000' });
  const second = await account.another();
  const id = (await chat()).headers.get('x-service-generation-id');
  const bodies = new Set<string>();
  for (const settle of [false, true]) {
    if (settle) await naru.settled();
    for (const query of [
      `id=${id}`,
      'id=gen-1795219200-000000000000000',
      'id=nothing',
      "id=' OR 1=1",
      `id=${'9'.repeat(5000)}`,
      'id=%00',
    ]) {
      const response = await read(`/generation?${query}`, otherAccount.key);
      assertError(response, 404, 'not_supported');
      bodies.add(response.text);
    }
    assert.equal((await read(`/generation?id=${id}`, second.key)).status, 200);
  }
  assert.equal(bodies.size, 1);
});
