/** The alert rules of deploy/prometheus: they name what a server shows, and fire when it breaks. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { headingsOf } from '../../scripts/docs-site/markdown.ts';
import { publishPrices } from '../../src/catalogue/publish.ts';
import { silentLog } from '../../src/log/log.ts';
import { setChoice } from '../../src/messages/choices-sql.ts';
import { Messages } from '../../src/messages/messages.ts';
import { addMessageMetrics } from '../../src/messages/metrics.ts';
import { watchSlots } from '../../src/messages/watch.ts';
import { Registry, readRegistry, renderPage } from '../../src/metrics/registry.ts';
import type { SlotStatus } from '../../src/slots/contract.ts';
import { startBehindCutter } from '../chaos/gateway-behind-cutter.ts';
import { openTestDatabase } from '../harness/database.ts';
import { parseExposition } from '../harness/exposition.ts';
import { startTestGateway, testConfig } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';
import { firingAlerts, promtool, type Scrape, testRules } from './promtool.ts';
import { assertNamesExist } from './queries.ts';
import { scrape, startWatchedGateway } from './watched-gateway.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/prometheus');
const ruleFile = join(folder, 'naru.rules.yml');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
interface RuleTest {
  readonly promql_expr_test: readonly { readonly eval_time: string }[];
}
const isLong = ({ promql_expr_test: expectations }: RuleTest): boolean =>
  expectations.some(({ eval_time: time }) => time.endsWith('h'));
const rules: readonly Rule[] = parse(readFileSync(ruleFile, 'utf8')).groups.flatMap(
  ({ rules: each }: { readonly rules: readonly Rule[] }) => each,
);
const names = rules.map(({ alert }) => alert);
/** Those that a busy machine may cause, or the number of tries to start an engine. */
const ofLoad = ['NaruEventLoopBusy', 'NaruSettlementLag', 'NaruSlotStartsFailing'];
const withoutLoad = (alerts: readonly string[]): readonly string[] =>
  alerts.filter((alert) => !ofLoad.includes(alert));

test('promtool accepts the rules and the configuration, and each rule fires alone in its unit test', () => {
  promtool(['check', 'config', 'prometheus.yml'], folder);
  const file = parse(readFileSync(join(folder, 'naru.rules.test.yml'), 'utf8'));
  const { tests } = file;
  // A day of minutes takes longer than all other tests.
  const [long, short] = [tests.filter(isLong), tests.filter((one: RuleTest) => !isLong(one))];
  testRules({ ...file, rule_files: [ruleFile], tests: short });
  testRules({ ...file, rule_files: [ruleFile], tests: long, evaluation_interval: byTier('10m', '1m') });
  const tested = new Set<string>();
  for (const { name, promql_expr_test: expectations } of tests) {
    const [quiet, firing] = expectations;
    assert.deepEqual(quiet.exp_samples, [], name);
    assert.deepEqual(firing.exp_samples, [{ labels: `{alertname="${name}"}`, value: 1 }]);
    tested.add(name);
  }
  assert.deepEqual([...tested].toSorted(), names.toSorted());
});

test('each alert leads to its entry in docs/runbook.md', () => {
  const headings = headingsOf(readFileSync(join(root, 'docs/runbook.md'), 'utf8'));
  const anchors = headings.map(({ anchor }) => `docs/runbook.md#${anchor}`);
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(critical|warning|info)$/, alert);
    assert.ok(anchors.includes(annotations.runbook), alert);
  }
});

test('the rules name what the server shows; a healthy one is quiet; each fault raises its alerts', async (t) => {
  const { naru, send } = await startWatchedGateway(t);
  for (const stream of [true, false, false]) assert.equal(await send('test/good', { stream }), 200);
  assert.equal(await send('test/slot'), 200);
  await naru.settled();
  const healthy = await scrape(naru);
  assert.deepEqual(withoutLoad(firingAlerts(ruleFile, healthy, healthy)), []);

  await naru.database.query(
    "ALTER TABLE generation ADD CONSTRAINT taste CHECK (detail->>'title' IS DISTINCT FROM 'poison')",
  );
  assert.equal(await send('test/good', { title: 'poison' }), 200);
  for (let n = 0; n < 25; n++) assert.ok((await send('test/dead')) >= 500);
  assert.equal(await send('test/limited'), 502);
  await naru.settled();
  await until(
    'the settlement is quarantined',
    async () => (await naru.operator.readQuarantine(false)).length === 1,
    30_000,
  );
  assert.equal((await naru.operator.verifyLedger()).differences.length, 1);
  await until(
    'the page shows both',
    async () =>
      (await naru.metric('naru_quarantined_settlements')) === 1 &&
      (await naru.metric('naru_ledger_differences')) === 1,
    30_000,
  );
  const broken = await eventually('the engine waits for the next try', 30_000, async () => {
    assert.equal(await send('test/broken'), 503);
    const seen = await scrape(naru);
    const is = (state: string) => seen.page.value('naru_slot_state', { slot: 'broken', state }) === 1;
    return is('BACKOFF') || is('FAILED') ? seen : null;
  });
  for (const { expr } of rules) assertNamesExist(expr, broken.page);
  assert.deepEqual(withoutLoad(firingAlerts(ruleFile, healthy, broken)), [
    'NaruCandidateDown',
    'NaruCandidateFailing',
    'NaruCandidateRateLimited',
    'NaruLedgerDifferences',
    'NaruQuarantinedSettlements',
    'NaruServerErrors',
    'NaruSlotFailed',
    'NaruUnservedRequests',
  ]);
  const nineDaysLater = { ...healthy, atMs: healthy.atMs + 9 * 86_400_000 };
  assert.deepEqual(withoutLoad(firingAlerts(ruleFile, healthy, nineDaysLater)), [
    'NaruBackupOld',
    'NaruVerificationOld',
  ]);
});

// spec:operator/3.3,3.4
test('no alert is pending on an installation of minutes; its metrics pass the lint of Prometheus', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.respond(() => reply.chat('hello', { usage: usage(10, 5) }));
  const place = mkdtempSync(join(tmpdir(), 'naru-alerts-'));
  t.after(() => rmSync(place, { recursive: true }));
  const naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url, 'http://127.0.0.1:1/v1'] }],
    config: { backup: { directory: place, schedule: {} } },
  });
  t.after(() => naru.close());
  const { key } = await naru.account({ credit: '1000' });
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  const seen = await scrape(naru);
  const pending = firingAlerts(ruleFile, seen, seen, 16, 'firing|pending');
  assert.deepEqual(withoutLoad(pending), []);
  assert.equal(promtool(['check', 'metrics'], folder, seen.page.text), '');
  const { value } = seen.page;
  assert.ok(seen.page.text.includes(`naru_build_info{hostname="${hostname()}",version="`));
  const up = 'naru_upstream_attempts_total';
  const tag = 'up1/upstream-echo';
  assert.equal(value(up, { candidate: tag, outcome: 'responded' }), 1);
});

test('settlements that do not reach the database raise an alert', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  const account = await naru.account();
  const script = { act: 'respond', wordCount: 5, waitMs: 0, prompt: 10 };
  const body = { model: 'test/echo', messages: [{ role: 'user', content: JSON.stringify(script) }] };
  const send = () => naru.send('POST', '/chat/completions', { key: account.key, body });
  assert.equal((await send()).status, 200);
  await naru.settled();
  const before = await scrape(naru);
  cutter.down();
  assert.equal((await send()).status, 200);
  await until('a settlement waits', async () => (await naru.metric('naru_settlement_backlog')) > 0, 30_000);
  const away = await scrape(naru);
  assert.ok(firingAlerts(ruleFile, before, away).includes('NaruSettlementStalled'));
});

test('a configuration that differs from the published prices raises an alert', async (t) => {
  const models = [{ id: 'test/echo', upstreams: ['http://127.0.0.1:1'] }];
  const naru = await startTestGateway({ models });
  t.after(() => naru.close());
  const before = await scrape(naru);
  const other = testConfig({ models: [...models, { id: 'test/other', upstreams: ['http://127.0.0.1:1'] }] });
  await publishPrices(naru.database, other, { atMs: naru.clock.now(), announce: 'catalogue' });
  await until('it differs', async () => (await naru.metric('naru_price_differences')) === 1, 30_000);
  assert.ok(firingAlerts(ruleFile, before, await scrape(naru)).includes('NaruPricesDiffer'));
});

test('messages that nobody sends, and a mail server that takes none, raise alerts', async (t) => {
  const database = await openTestDatabase(t);
  const clock = new TestClock();
  const config = testConfig({ config: { mail: { host: '127.0.0.1', port: 1, from: 'naru@example.com' } } });
  const messages = new Messages({ database, clock, log: silentLog, config: () => config });
  const registry = new Registry();
  addMessageMetrics(registry, messages, clock);
  const look = async (): Promise<Scrape> => {
    await messages.measure();
    return { page: parseExposition(await renderPage([await readRegistry(registry)])), atMs: clock.now() };
  };
  const address = 'op@example.com';
  await setChoice(
    database,
    'operators',
    { channel: 'email', kinds: ['slot.failing'], language: 'ko', address },
    null,
  );
  const before = await look();
  const statuses = [{ name: 'big', state: 'FAILED', failures: 5 } as SlotStatus];
  await watchSlots(database, { host: 'h1', statuses, atMs: clock.now() });
  clock.advance(20 * 60_000);
  assert.deepEqual(firingAlerts(ruleFile, before, await look()), ['NaruMessagesOverdue']);
  for (let n = 0; n < 7; n++) {
    clock.advance(12 * 3_600_000);
    await messages.run();
  }
  const failing = await look();
  const labels = { channel: 'email', outcome: 'failed' };
  assert.equal(failing.page.value('naru_message_attempts_total', labels), 7);
  assert.equal(failing.page.value('naru_messages_waiting', { channel: 'email' }), 1);
  assert.deepEqual(firingAlerts(ruleFile, before, failing), ['NaruMailFailing']);
});

/** Reaching 700 MB takes the settlements of 350,000 responses; the unit test of its rule stands for it. */
const notBroken = ['NaruJournalFilling'];

test('a test breaks what each alert watches', () => {
  const files = ['alerts.test.ts', 'broken-parts.full.test.ts', 'prometheus.full.test.ts'];
  const texts = files.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'));
  const named = new Set(texts.flatMap((text) => text.match(/(?<=')Naru[A-Z]\w+(?=')/g) ?? []));
  assert.deepEqual([...named].toSorted(), names.toSorted(), 'names in tests, and rules');
  const broken = texts.flatMap((text) => text.replaceAll(/^const (?:ofLoad|ofNew|notBroken) = .*$/gm, ''));
  assert.deepEqual(
    names.filter((name) => !broken.some((text) => text.includes(`'${name}'`))),
    notBroken,
  );
});
