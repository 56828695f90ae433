/** Providers and candidates in the console: health, a test with real calls, an explained route, drains. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { providerKey, startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { until } from '../harness/until.ts';
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
test('a test calls the candidate as clients do, reports what works, and bills no account', async () => {
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
  assert.match(
    candidates[0].why_ko,
    /^알려진 문제가 없습니다\(30분 동안 시도 없음\)\. 설정 파일에서 첫 번째입니다\. 토큰 1,000개당 입력 1,000원, 출력 2,000원$/,
  );
  assert.match(
    (await admin.get('/route?models=no/model')).refusal.ko,
    /존재하지 않는 모델 ID입니다: no\/model\.$/,
  );
  const { accountId, hash } = await gateway.account();
  const restrict = (restrictions: object) =>
    gateway.database.query('UPDATE api_key SET restrictions = $2 WHERE account_id = $1', [
      accountId,
      restrictions,
    ]);
  const ofKey = () => admin.get(`/route?models=test/model&key=${hash.slice(0, 12)}`);
  await restrict({ allowed_providers: ['up2'] });
  assert.deepEqual(
    (await ofKey()).candidates.map((row: Record<string, unknown>) => [row['place'], row['reason']]),
    [
      [1, null],
      [null, 'not_allowed'],
    ],
  );
  await restrict({ allowed_models: ['test/other'] });
  assert.match((await ofKey()).refusal.en, /This API key may not use test\/model/);
  assert.equal((await admin.send('GET', '/route?models=test/model&key=00000000')).status, 404);
});

// pages:A4,U9
test('a candidate is drained and resumed by an admin, once for an idempotency key, and each is an act', async () => {
  const { accountId } = await gateway.account();
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(accountId));
  const body = { model: 'test/model', candidate: 'up1/upstream-model', reason: 'new hardware' };
  const send = (drained: boolean, key: string = randomUUID(), more: object = {}) =>
    admin.send('POST', '/candidates/drain', {
      body: { ...body, drained, ...more },
      headers: { 'idempotency-key': key },
    });
  const key = randomUUID();
  assert.deepEqual((await send(true, key)).json, { drained: true, changed: true });
  assert.deepEqual((await send(true)).json, { drained: true, changed: false });
  await until('this process follows', async () => {
    const [first, second] = (await admin.get('/candidates')).candidates;
    assert.deepEqual([first.drain.reason, second.drain], ['new hardware', null]);
    return first.health[0].drained_for.includes('test/model');
  });
  const { candidates } = await admin.get('/route?models=test/model');
  assert.deepEqual(
    candidates.map((row: Record<string, unknown>) => [row['place'], row['candidate'], row['reason']]),
    [
      [1, 'up2/upstream-model', null],
      [null, 'up1/upstream-model', 'drained'],
    ],
  );
  const shownDrains = async () =>
    (await owner.get('/models')).items[0].candidates.map((one: Record<string, unknown>) => one['is_drained']);
  assert.deepEqual(await shownDrains(), [true, false], 'owners see it beside the model');
  assert.equal((await send(false)).json.changed, true);
  await until('owners see that it takes requests again', async () => (await shownDrains())[0] === false);
  assert.deepEqual((await send(true, key)).json, { drained: true, changed: true }, 'the stored response');
  assert.equal((await admin.get('/candidates')).candidates[0].drain, null);
  assert.equal((await send(true, randomUUID(), { candidate: 'up9/none' })).status, 404);
  assert.equal((await send(true, randomUUID(), { reason: ' ' })).status, 400);
  const { items } = await admin.get('/audit');
  assert.deepEqual(
    items.slice(0, 2).map(({ act, subject, reason }: Record<string, unknown>) => [act, subject, reason]),
    [
      ['candidate.resume', 'test/model up1/upstream-model', 'new hardware'],
      ['candidate.drain', 'test/model up1/upstream-model', 'new hardware'],
    ],
  );
});

// pages:A4
test('a drained candidate that the configuration lost is shown, and can be resumed', async () => {
  const change = (drained: boolean) =>
    admin.send('POST', '/candidates/drain', {
      body: { model: 'test/model', candidate: 'up2/upstream-model', drained, reason: 'moved' },
    });
  await change(true);
  const { config } = gateway;
  const models = config.models.map((row) => ({ ...row, candidates: row.candidates.slice(0, 1) }));
  await gateway.gateway.reload({ ...config, models });
  const { candidates, drained_elsewhere: elsewhere } = await admin.get('/candidates');
  assert.equal(candidates.length, 1);
  assert.deepEqual(
    elsewhere.map((row: Record<string, unknown>) => [row['model'], row['candidate'], row['reason']]),
    [['test/model', 'up2/upstream-model', 'moved']],
  );
  await change(false);
  assert.deepEqual((await admin.get('/candidates')).drained_elsewhere, []);
  await gateway.gateway.reload(config);
});
