/** The settlements that the database rejected, in the console: their list, and both decisions. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listQuarantined } from '../../src/ledger/quarantine-sql.ts';
import { parseGenerationId } from '../../src/wire/ids/generation-id.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { until } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
const limitMs = 20_000;
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let viewer: PageBrowser;
let admin: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ sessions, models: [{ id: 'test/model', upstreams: [upstream.url] }] });
  account = await gateway.account();
  const origin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  viewer = new PageBrowser(origin, 'console', sessions.operator('viewer'));
  admin = new PageBrowser(origin, 'console', sessions.operator('admin'));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

const taste =
  "ALTER TABLE generation ADD CONSTRAINT taste CHECK (detail->>'title' IS DISTINCT FROM 'poison') NOT VALID";

/** A completed response whose settlement is in the quarantine; returns its generation. */
async function rejected(): Promise<string> {
  const before = (await listQuarantined(gateway.database)).length;
  const { json } = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
    headers: { 'x-title': 'poison' },
  });
  const isStored = async () => (await listQuarantined(gateway.database)).length > before;
  await until('the settlement is in the quarantine', isStored, limitMs);
  return json.id;
}

/** What was recorded of the decisions on one generation, the latest first. */
async function actsOn(id: string): Promise<unknown[]> {
  const { items } = await viewer.get('/audit');
  const uuid = parseGenerationId(id);
  return items
    .filter(({ subject }: { subject: string }) => subject === uuid)
    .map(({ act, who, reason }: Record<string, unknown>) => [act, who, reason]);
}

// pages:A1,A11
test('a rejected settlement is retried until the database takes it, with a reason in the audit log', async () => {
  await gateway.database.query(taste);
  const id = await rejected();
  const [row] = (await viewer.get('/quarantine')).items;
  assert.deepEqual([row.id, row.account.id, row.attempts, row.decision], [id, account.accountId, 1, null]);
  assert.match(row.reason, /taste/);
  const body = { reason: 'the constraint is gone' };
  assert.equal((await viewer.send('POST', `/quarantine/${id}/retry`, { body })).status, 403);
  const refused = await admin.send('POST', `/quarantine/${id}/retry`, { body });
  assert.deepEqual([refused.status, refused.json.settled], [200, false]);
  assert.match(refused.json.reason, /taste/);

  await gateway.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  const done = await admin.send('POST', `/quarantine/${id}/retry`, { body });
  assert.deepEqual(done.json, { settled: true, reason: null });
  assert.equal((await admin.send('POST', `/quarantine/${id}/retry`, { body })).status, 404);
  assert.deepEqual((await viewer.get('/quarantine')).items, []);
  const [decided] = (await viewer.get('/quarantine?all=1')).items;
  assert.equal(decided.decision, 'settled');
  const charged = await gateway.operator.readAccount(account.accountId);
  assert.equal(String(charged?.usage), row.cost_micro);
  const acts = await actsOn(id);
  assert.deepEqual(acts, [
    ['quarantine.retry', 'operator', body.reason],
    ['quarantine.retry', 'operator', body.reason],
  ]);
});

// pages:A11
test('a rejected settlement is written off once, and is never charged', async () => {
  await gateway.database.query(taste);
  const id = await rejected();
  await gateway.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  const usedBefore = (await gateway.operator.readAccount(account.accountId))?.usage;
  const body = { reason: 'a test request' };
  assert.equal((await viewer.send('POST', `/quarantine/${id}/write-off`, { body })).status, 403);
  assert.equal((await admin.send('POST', `/quarantine/${id}/write-off`, { body: {} })).status, 400);
  const done = await admin.send('POST', `/quarantine/${id}/write-off`, { body });
  assert.deepEqual(done.json, { written_off: true });
  assert.equal((await admin.send('POST', `/quarantine/${id}/write-off`, { body })).status, 404);
  assert.equal((await admin.send('POST', `/quarantine/${id}/retry`, { body })).status, 404);
  const decided = (await viewer.get('/quarantine?all=1')).items.find((one: { id: string }) => one.id === id);
  assert.deepEqual([decided.decision, decided.note], ['written_off', body.reason]);
  assert.equal((await gateway.operator.readAccount(account.accountId))?.usage, usedBefore);
  assert.deepEqual(await actsOn(id), [['quarantine.write_off', 'operator', body.reason]]);
});
