/**
 * The official SDK of OpenRouter, `@openrouter/sdk`, which validates every response strictly:
 * everything but conversations.
 */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { OpenRouter } from '@openrouter/sdk';
import * as errors from '@openrouter/sdk/models/errors';
import { type ClientWorld, clientModel, openClientWorld, type Payer } from '../harness/client-world.ts';
import { reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
let payer: Payer;
let sdk: OpenRouter;
let manager: OpenRouter;

before(async () => {
  world = await openClientWorld();
  payer = await world.payer({ credit: '10000', limit: '500.5', limitReset: 'monthly' });
  sdk = sdkWith(payer.key);
  manager = sdkWith((await payer.another({ kind: 'management' })).key);
});
after(async () => {
  await world?.close();
});

function sdkWith(apiKey: string): OpenRouter {
  return new OpenRouter({
    apiKey,
    serverURL: world.url,
    retryConfig: { strategy: 'none' },
    timeoutMs: 10_000,
  });
}

/** A conversation of 20 won; returns its id. */
async function converse(with_: OpenRouter, more: { user?: string } = {}): Promise<string> {
  world.upstream.next(reply.chat('네', { usage: usage(10, 5) }));
  const messages = [{ role: 'user', content: '안녕' }] as const;
  const response = await with_.chat.send({
    chatRequest: { model: clientModel, messages: [...messages], ...more },
  });
  assert.ok('choices' in response);
  return response.id;
}

test('models are listed page by page, counted, and listed for the key', async () => {
  const pages = await Array.fromAsync(await sdk.models.list());
  const models = pages.flatMap((page) => page.result.data);
  assert.deepEqual(
    models.map((model) => [model.id, model.pricing.prompt, model.pricing.completion, model.contextLength]),
    [[clientModel, '1', '2', 32_768]],
  );
  assert.equal(pages[0]?.result.totalCount, 1);
  const filtered = await sdk.models.list({ q: 'no such model', sort: 'pricing-low-to-high', limit: 10 });
  assert.deepEqual(filtered.result.data, []);
  assert.equal((await sdk.models.count()).data.count, 1);
  const own = await Array.fromAsync(await sdk.models.listForUser({ bearer: payer.key }));
  assert.deepEqual(
    own.flatMap((page) => page.result.data),
    models,
  );
});

test('the endpoints of a model are listed, before and after one of them was used', async () => {
  for (let round = 0; round < 2; round += 1) {
    const { data } = await sdk.endpoints.list({ author: 'test', slug: 'echo' });
    assert.equal(data.id, clientModel);
    assert.deepEqual(
      data.endpoints.map((endpoint) => [endpoint.tag, endpoint.providerName, endpoint.pricing.completion]),
      [['up1', 'Upstream 1', '2']],
    );
    await converse(sdkWith((await world.payer()).key));
  }
  await assert.rejects(sdk.endpoints.list({ author: 'no', slug: 'such' }), errors.NotFoundResponseError);
});

test('providers are listed', async () => {
  const { data } = await sdk.providers.list();
  assert.deepEqual(
    data.map((provider) => [provider.slug, provider.name]),
    [['up1', 'Upstream 1']],
  );
});

test('the record of a generation is readable as soon as its response arrives', async () => {
  const own = await world.payer();
  const with_ = sdkWith(own.key);
  const id = await converse(with_, { user: 'customer-1' });
  const { data } = await with_.generations.getGeneration({ id });
  assert.equal(data.id, id);
  assert.equal(data.model, clientModel);
  assert.equal(data.totalCost, 20);
  assert.equal(data.usage, 20);
  assert.equal(data.nativeTokensPrompt, 10);
  assert.equal(data.nativeTokensCompletion, 5);
  assert.equal(data.externalUser, 'customer-1');
  assert.deepEqual(
    data.providerResponses?.map((attempt) => [attempt.providerName, attempt.status]),
    [['Upstream 1', 200]],
  );
  await own.charged(20);
  const missing = 'gen-1779474931-w20BCAngQY7SOa9Zs5L4';
  await assert.rejects(with_.generations.getGeneration({ id: missing }), errors.NotFoundResponseError);
});

test('the key in use and the credits of its account show the spending', async () => {
  const before_ = (await sdk.apiKeys.getCurrentKeyMetadata()).data;
  await converse(sdk);
  const { data } = await sdk.apiKeys.getCurrentKeyMetadata();
  assert.equal(data.limit, 500.5);
  assert.equal(data.limitReset, 'monthly');
  assert.equal(data.usage, before_.usage + 20);
  assert.equal(data.limitRemaining, 500.5 - data.usage);
  assert.equal(data.isManagementKey, false);
  const { data: credits } = await sdk.credits.getCredits();
  assert.deepEqual(credits, { totalCredits: 10_000, totalUsage: data.usage });
  assert.equal((await manager.apiKeys.getCurrentKeyMetadata()).data.isManagementKey, true);
  await payer.charged(20);
});

test('a key is created, used, read, changed, listed and revoked', async () => {
  const expiresAt = new Date(world.naru.clock.now() + 86_400_000);
  const made = await manager.apiKeys.create({
    requestBody: {
      name: 'from the SDK',
      limit: 100.25,
      limitReset: 'daily',
      expiresAt,
      includeByokInLimit: false,
    },
  });
  const { hash } = made.data;
  assert.match(made.key, /^sk-/);
  assert.equal(made.data.limit, 100.25);
  assert.equal(made.data.expiresAt?.getTime(), expiresAt.getTime());
  assert.equal(made.data.updatedAt, null);
  const spent = (await sdk.credits.getCredits()).data.totalUsage;
  await converse(sdkWith(made.key));

  const read = (await manager.apiKeys.get({ hash })).data;
  assert.deepEqual(
    [read.name, read.limitReset, read.usage, read.usageDaily, read.limitRemaining, read.disabled],
    ['from the SDK', 'daily', 20, 20, 80.25, false],
  );
  assert.equal((await sdk.credits.getCredits()).data.totalUsage, spent + 20);

  const requestBody = { name: 'renamed', disabled: true, limit: null, limitReset: null };
  const changed = (await manager.apiKeys.update({ hash, requestBody })).data;
  assert.deepEqual(
    [changed.name, changed.disabled, changed.limit, changed.limitRemaining, changed.limitReset],
    ['renamed', true, null, null, 'never'],
  );
  await assert.rejects(converse(sdkWith(made.key)), errors.UnauthorizedResponseError);

  assert.ok((await manager.apiKeys.list()).data.some((key) => key.hash === hash));
  const enabled = await manager.apiKeys.list({ includeDisabled: false, offset: 0 });
  assert.ok(!enabled.data.some((key) => key.hash === hash));
  assert.deepEqual(await manager.apiKeys.delete({ hash }), { deleted: true });
  assert.ok(!(await manager.apiKeys.list()).data.some((key) => key.hash === hash));
  assert.equal((await manager.apiKeys.get({ hash })).data.disabled, true);
});

test('rejections of the key endpoints are typed errors', async () => {
  const hash = 'f'.repeat(64);
  await assert.rejects(sdk.apiKeys.list(), errors.UnauthorizedResponseError);
  await assert.rejects(manager.apiKeys.get({ hash }), errors.NotFoundResponseError);
  await assert.rejects(manager.apiKeys.delete({ hash }), errors.NotFoundResponseError);
  await assert.rejects(
    manager.apiKeys.update({ hash: payer.hash, requestBody: { name: ' ' } }),
    errors.BadRequestResponseError,
  );
});

test('the datasets parse', async () => {
  const apps = await Array.fromAsync(await sdk.datasets.getAppRankings({ limit: 3 }));
  const ranks = apps.flatMap((page) => page.result.data.map((row) => row.rank));
  assert.ok(ranks.length > 3, 'several pages of samples');
  assert.deepEqual(
    ranks,
    ranks.map((_, index) => index + 1),
  );
  const daily = await sdk.datasets.getRankingsDaily();
  assert.ok(daily.data.length > 0);
  assert.match(daily.data[0]?.totalTokens ?? '', /^\d+$/);
  const weekly = await sdk.datasets.getRankingsDaily({ period: 'week', modality: 'text' });
  assert.equal(weekly.meta.version, 'v1');
  for (const source of ['artificial-analysis', 'design-arena', 'openrouter'] as const) {
    const { data, meta } = await sdk.benchmarks.getBenchmarks({ source, maxResults: 5 });
    assert.ok(data.length > 0, source);
    assert.equal(meta.source, source);
  }
  assert.ok((await sdk.benchmarks.getBenchmarks()).data.length > 0);
});

/** A gateway that has no dataset at all: neither samples nor anything synced. */
async function withoutDatasets(t: TestContext): Promise<OpenRouter> {
  const empty = await openClientWorld({ config: { datasets: { samples: false } } });
  t.after(() => empty.close());
  const { key } = await empty.payer();
  return new OpenRouter({ apiKey: key, serverURL: empty.url, retryConfig: { strategy: 'none' } });
}

test('an empty app ranking has the nulls of the specification, the one response that the SDK rejects', async (t) => {
  const reader = await withoutDatasets(t);
  await assert.rejects(reader.datasets.getAppRankings(), (error) => {
    assert.ok(error instanceof errors.ResponseValidationError, String(error));
    assert.equal(error.statusCode, 200);
    const { data, meta } = JSON.parse(error.body);
    assert.deepEqual([data, meta.as_of, meta.start_date, meta.end_date], [[], null, null, null]);
    return true;
  });
});

test('the other datasets parse without data too', async (t) => {
  const reader = await withoutDatasets(t);
  assert.deepEqual((await reader.datasets.getRankingsDaily()).data, []);
  assert.deepEqual((await reader.benchmarks.getBenchmarks()).data, []);
});

test('an unimplemented endpoint is a typed 404', async () => {
  const notOffered = [
    () => sdk.analytics.getUserActivity(),
    () => sdk.embeddings.generate({ requestBody: { model: clientModel, input: 'x' } }),
    () => sdk.models.get({ author: 'test', slug: 'echo' }),
    () => sdk.endpoints.listZdrEndpoints(),
  ];
  for (const attempt of notOffered) {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof errors.OpenRouterError, String(error));
      assert.equal(error.statusCode, 404);
      assert.equal(JSON.parse(error.body).error.metadata.error_type, 'not_supported');
      return true;
    });
  }
});
