import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DrainedCandidates } from '../../src/catalogue/drains.ts';
import { Database } from '../../src/store/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

/* A drained candidate gets no new requests on any node, until it is resumed. */

const model = 'test/echo';
const candidate = 'up1/upstream-echo';
const other = 'up2/upstream-echo';
const body = { model, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

let first: Upstream;
let second: Upstream;
let one: TestGateway;
let two: TestGateway;
let account: TestAccount;

before(async () => {
  [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  first.always(reply.chat('first', { usage: usage(10, 5) }));
  second.always(reply.chat('second', { usage: usage(10, 5) }));
  const models = [{ id: model, upstreams: [first.url, second.url] }];
  one = await startTestGateway({ models });
  two = await startTestGateway({ models, beside: one });
  account = await one.account();
});
after(async () => {
  await two?.close();
  await one?.close();
  await first?.close();
  await second?.close();
});

function change(drained: boolean, of = candidate, idempotencyKey: string | null = null) {
  return one.operator.changeDrain({ model, candidate: of, drained, reason: 'new hardware', idempotencyKey });
}

const call = (node: TestGateway) => node.send('POST', '/chat/completions', { key: account.key, body });

/** The provider that answers, or the status without one. */
async function providerOf(node: TestGateway): Promise<string> {
  const { status, headers } = await call(node);
  return headers.get('x-service-provider') ?? String(status);
}

/** Waits until both nodes send their requests there. */
async function untilBoth(answer: string): Promise<void> {
  for (const node of [one, two])
    await until(`requests get ${answer}`, async () => (await providerOf(node)) === answer, 20_000);
}

async function acts(): Promise<readonly (readonly [string, string | null, string | null])[]> {
  const rows = await one.operator.identity.readActs({ limit: 100 });
  return rows
    .filter(({ act }) => act.startsWith('candidate.'))
    .map(({ act, subject, reason }) => [act, subject, reason] as const);
}

test('no node sends it new requests, those in flight finish, and the record names the reason', async () => {
  const middle = gate();
  first.next(reply.stream(['the ', middle, 'end'], { usage: usage(10, 5) }));
  const inFlight = two.send('POST', '/chat/completions', {
    key: account.key,
    body: { ...body, stream: true },
  });
  await middle.reached;
  assert.deepEqual(await change(true), { kind: 'done', before: null });
  await untilBoth('up2');
  const called = first.requests.length;
  const { headers } = await call(two);
  middle.open();
  assert.match((await inFlight).text, /end[\s\S]*\[DONE\]/);
  assert.equal(first.requests.length, called, 'only the request in flight was at the drained candidate');
  await two.settled();
  const id = headers.get('x-service-generation-id') ?? '';
  const { json } = await one.send('GET', `/generation?id=${id}`, { key: account.key });
  assert.deepEqual(json.data.routing.dropped, [
    { model_permaslug: model, endpoint_id: candidate, reason: 'drained' },
  ]);
  assert.equal(await two.metric('naru_upstream_drained'), 1);
  assert.deepEqual(await acts(), [['candidate.drain', `${model} ${candidate}`, 'new hardware']]);
});

test('the last one leaves no endpoint, with a message that says why', async () => {
  await change(true, other);
  await untilBoth('404');
  const { json } = await call(two);
  assert.equal(json.error.metadata.error_type, 'no_endpoints_found');
  assert.match(json.error.message, /운영자가 새 요청을 중단했습니다\. .*an operator drained it/);
  await change(false, other);
  await untilBoth('up2');
});

test('a restart keeps it, and so does a configuration that loses the candidate and gets it back', async () => {
  await two.stop();
  const restarted = await startTestGateway({
    models: [{ id: model, upstreams: [first.url, second.url] }],
    after: two,
  });
  assert.equal(await providerOf(restarted), 'up2');
  await restarted.close();
  const { config } = one;
  const models = config.models.map((row) => ({ ...row, candidates: row.candidates.slice(1) }));
  await one.gateway.reload({ ...config, models });
  assert.equal(await providerOf(one), 'up2');
  assert.equal((await one.operator.readDrains()).length, 1);
  await one.gateway.reload(config);
  assert.equal(await providerOf(one), 'up2');
  await change(false);
  await until('it gets requests again', async () => (await providerOf(one)) === 'up1', 20_000);
});

test('of many at once one takes effect, and an idempotency key does so once', async () => {
  const before = (await acts()).length;
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => change(true)));
  assert.deepEqual(outcomes.map(({ kind }) => kind).toSorted(), ['done', ...Array(7).fill('unchanged')]);
  assert.equal((await acts()).length, before + 1);
  assert.equal((await change(true, candidate, 'k')).kind, 'unchanged');
  assert.equal((await change(false)).kind, 'done');
  assert.equal(
    (await change(true, candidate, 'k')).kind,
    'repeated',
    'a retry drains nothing that was resumed',
  );
  assert.equal((await change(false, candidate, 'k')).kind, 'conflict');
  const other = { model, candidate, drained: true, reason: 'another', idempotencyKey: 'k' };
  assert.equal((await one.operator.changeDrain(other)).kind, 'conflict');
  assert.deepEqual(await one.operator.readDrains(), []);
  const unknown = { model, candidate: 'up9/none', drained: true, reason: 'x', idempotencyKey: null };
  assert.equal((await one.operator.changeDrain(unknown)).kind, 'unknown_candidate');
  assert.equal((await acts()).length, before + 2);
});

test('without the database the state that was read last counts', async () => {
  await change(true);
  const database = new Database(one.database.address, 1);
  const drains = new DrainedCandidates(database);
  const named = { modelId: model, label: candidate };
  assert.equal(drains.isDrained(named), false);
  await drains.refresh();
  assert.equal(drains.isDrained(named), true);
  await database.close();
  await assert.rejects(drains.refresh());
  assert.equal(drains.isDrained(named), true);
  await change(false);
});
