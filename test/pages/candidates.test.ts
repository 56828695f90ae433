/** Providers and candidates in the console: their health, a test with real calls, an explained route. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { providerKey, startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const sessions = new TestSessions();
let good: Upstream;
let bad: Upstream;
let gateway: TestGateway;
let admin: PageBrowser;

before(async () => {
  good = await startUpstream();
  good.always(reply.chat('word', { usage: usage(5, 1) }));
  bad = await startUpstream();
  bad.always(reply.status(401, { error: { message: `the key ${providerKey} is wrong`, code: 401 } }));
  gateway = await startTestGateway({
    sessions,
    models: [{ id: 'test/model', upstreams: [good.url, bad.url] }],
  });
  const origin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  admin = new PageBrowser(origin, 'console', sessions.operator('admin'));
});
after(async () => {
  await gateway?.close();
  await good?.close();
  await bad?.close();
});

const probe = (candidate: string) =>
  admin.send('POST', '/candidates/test', { body: { model: 'test/model', candidate } });

// pages:A4
test('providers are listed without their secrets, candidates with their prices and health', async () => {
  const found = await admin.get('/candidates');
  assert.deepEqual(
    found.providers.map((row: Record<string, unknown>) => [row['slug'], row['base_url'], row['has_secret']]),
    [
      ['up1', good.url, true],
      ['up2', bad.url, true],
    ],
  );
  assert.equal(JSON.stringify(found).includes(providerKey), false);
  const [first] = found.candidates;
  assert.deepEqual([first.model, first.candidate], ['test/model', 'up1/upstream-model']);
  assert.deepEqual([first.prompt_micro, first.currency], ['1000000000000', 'KRW']);
  assert.equal(first.health[0].circuit, 'closed');
});

// pages:A4
test('a test calls the candidate as clients do, tells what works, and bills nobody', async () => {
  const { json } = await probe('up1/upstream-model');
  const outcomes = Object.fromEntries(
    json.items.map((row: Record<string, unknown>) => [row['probe'], row['outcome']]),
  );
  for (const name of ['answer', 'stream', 'tools', 'json']) assert.equal(outcomes[name], 'works', name);
  assert.equal(outcomes['image'], 'untried');
  assert.equal((await probe('up9/none')).status, 404);
  const failed = await probe('up2/upstream-model');
  assert.equal(failed.json.items[0].outcome, 'fails');
  assert.equal(failed.json.items[0].status, 401);
  assert.equal(failed.json.items[1].outcome, 'untried');
  assert.equal(failed.text.includes(providerKey), false, 'an upstream may quote our key');
  const { candidates } = await admin.get('/candidates');
  assert.equal(candidates[1].health[0].failures_in_a_row, 0, 'a test changes no health');
  const { items } = await admin.get('/audit');
  assert.deepEqual(
    items.map(({ act, subject }: Record<string, unknown>) => [act, subject]),
    [
      ['candidate.test', 'test/model up2/upstream-model'],
      ['candidate.test', 'test/model up1/upstream-model'],
    ],
  );
});

// pages:A4
test('a route is explained as the server would decide it, and an unknown model is its error', async () => {
  const { candidates, refusal } = await admin.get('/route?models=test/model&prompt_tokens=10');
  assert.equal(refusal, null);
  assert.deepEqual(
    candidates.map((row: Record<string, unknown>) => [row['place'], row['candidate']]),
    [
      [1, 'up1/upstream-model'],
      [2, 'up2/upstream-model'],
    ],
  );
  assert.match((await admin.get('/route?models=no/model')).refusal, /no\/model/);
});
