/**
 * The console's money and data: prices, the exchange rate, datasets, the books. The quick tier leaves
 * the publication of prices and the synchronisation of a dataset to
 * `test/pages/console-books.test.ts`, and the decision on a rejected settlement to
 * `test/pages/quarantine.test.ts`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { encodeFinal } from '../../src/ledger/journal-records.ts';
import { storeQuarantined } from '../../src/ledger/quarantine-sql.ts';
import type { Role } from '../../src/pages/page-session.ts';
import {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  testConfig,
} from '../harness/gateway.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { TestSessions } from '../harness/pages.ts';
import { settlementAt } from '../harness/settlement.ts';
import { fullOnly } from '../harness/tier.ts';
import { follow, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';
import { checkPages, type PageCase } from './every-page.ts';

const sessions = new TestSessions();
let source: Server;
let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';
/** What the configuration file has now; null: it is faulty. */
let file: Config | null;

function optionsOf(usdKrw: string): TestGatewayOptions {
  const dollars = { price: { prompt: '0.5', completion: '2', currency: 'USD', per: '1M' } };
  const { port } = source.address() as AddressInfo;
  const upstreams = ['http://127.0.0.1:9'];
  return {
    models: [
      { id: 'vendor/dollars', upstreams, model: dollars },
      { id: 'vendor/won', upstreams },
    ],
    config: {
      exchange: { usd_krw: usdKrw, margin_percent: '10' },
      datasets: { sync_key: 'key', base_url: `http://127.0.0.1:${port}/api/v1` },
    },
  };
}

before(async () => {
  source = createServer((_request, response) => response.writeHead(400).end('{}'));
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  const read = (): Config => {
    if (file === null)
      throw new OperatorError('the configuration has 1 fault:\nnaru.yaml:3: models: missing');
    return file;
  };
  file = testConfig(optionsOf('1400'));
  [gateway, browser] = await Promise.all([
    startTestGateway({ ...optionsOf('1400'), sessions, configFile: { read, readToPublish: read } }),
    startBrowser(),
  ]);
  origin = await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
  await gateway.account();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  source?.close();
});

/** A window of an operator at a page of the console. */
async function openPage(path: string, role: Role = 'admin', options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  const value = sessions.operator(role);
  await view.context.addCookies([{ name: 'naru_console', value, url: `${origin}/console` }]);
  await view.page.goto(`/console${path}`);
  return view;
}

const pages: readonly PageCase[] = [
  ['/quarantine', '거부된 정산', 'Rejected settlements', /naru ledger retry/],
  ['/prices', '모델과 가격', 'Models and prices', /vendor\/dollars/],
  ['/exchange', '환율', 'Exchange rate', /1,540/],
  ['/datasets', '데이터셋', 'Datasets', /벤치마크|Benchmarks/],
  ['/books', '원장', 'Ledger', /월 마감:|Month end:/],
  ['/month-end', '월 마감', 'Month end', /#\d+/],
];

// pages:A5,A7,A10,A11
test('every page shows real data, in both languages and themes, and axe finds nothing', async () => {
  file = testConfig(optionsOf('1540'));
  await checkPages('console', pages, (path, options) => openPage(path, 'viewer', options), undefined, [
    'test',
    '· token',
  ]);
});

// pages:A5,A7
test(
  'a new rate is shown with old and new prices, and published only by an admin who confirmed them',
  fullOnly,
  async () => {
    file = testConfig(optionsOf('1540'));
    const viewer = await openPage('/exchange', 'viewer');
    const effect = viewer.page.getByRole('region', { name: '가격에 미치는 영향' });
    // 0.5 dollars with a margin of 10 %, at 1,400 and at 1,540 won.
    await effect.getByText('770원').waitFor();
    await effect.getByText('847원').waitFor();
    await follow(viewer.page, '/console/prices', '모델과 가격');
    const refused = viewer.page.getByRole('button', { name: '변경 1건 게시' });
    await refused.waitFor();
    assert.equal(await refused.getAttribute('aria-disabled'), 'true');
    await viewer.close();

    const { page, axe, assertClean, close } = await openPage('/prices');
    await page.getByRole('button', { name: '변경 1건 게시' }).click();
    const dialog = page.getByRole('dialog', { name: '변경 1건을 게시할까요?' });
    await dialog.getByText('vendor/dollars').waitFor();
    // Old and new price and the change of each class: input, output, cache read and written.
    for (const row of await dialog.getByRole('row', { name: /770원.*847원/ }).all())
      assert.match((await row.textContent()) ?? '', /\+10%/);
    assert.ok((await dialog.getByRole('row', { name: /원.*원/ }).count()) >= 2);
    assert.deepEqual(await axe(), []);
    await dialog.getByRole('button', { name: '게시' }).click();
    await dialog.getByText('사유를 입력해 주세요.').waitFor();
    await dialog.getByLabel('사유').fill('환율 인상');
    await dialog.getByRole('button', { name: '게시' }).dblclick();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('설정 파일과 게시된 가격이 같습니다.').waitFor();
    const acts = await gateway.database.query("SELECT reason FROM audit_entry WHERE act = 'models.publish'");
    assert.deepEqual(acts, [{ reason: '환율 인상' }]);
    // The history of the model: both prices.
    await page.getByRole('button', { name: 'vendor/dollars' }).click();
    const history = page.getByRole('region', { name: '가격 이력' });
    await history.getByText('847원').waitFor();
    await history.getByRole('row').nth(2).waitFor();
    assert.equal(await history.getByRole('row').count(), 3);

    file = null;
    await page.reload();
    await page.getByText('naru.yaml:3: models: missing').waitFor();
    file = testConfig(optionsOf('1540'));
    assertClean();
    await close();
  },
);

// pages:A10
test('an admin synchronises a dataset and reads why it failed', fullOnly, async () => {
  const { page, assertClean, close } = await openPage('/datasets');
  const row = page.getByRole('row', { name: /벤치마크/ });
  await row.getByRole('button', { name: '동기화' }).click();
  await page.getByRole('dialog').getByRole('button', { name: '시작' }).click();
  await row.getByText(/\/benchmarks: .+/).waitFor({ timeout: 60_000 });
  assertClean();
  await close();
});

// pages:A1,A11
test(
  'a rejected settlement leads from the first page to its decision, which names its command',
  fullOnly,
  async () => {
    const { accountId } = await gateway.account();
    const settlement = settlementAt(gateway.clock.now(), { accountId, keyId: 1, cost: 20_000_000n });
    const reason = 'violates check constraint "taste"';
    const record = Buffer.from(encodeFinal(settlement));
    await gateway.database.transaction((sql) => storeQuarantined(sql, { ...settlement, record, reason }));
    const { page, axe, assertClean, close } = await openPage('/', 'admin');
    await page.getByRole('link', { name: '확인하고 결정하기' }).click();
    await page.getByRole('heading', { level: 1, name: '거부된 정산' }).waitFor();
    const row = page.getByRole('row', { name: /violates check constraint/ });
    await row.waitFor();
    assert.deepEqual(await axe(), []);
    await row.getByRole('button', { name: '청구 포기' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/사유/).fill('a test');
    await dialog.getByText(/^naru ledger write-off --generation gen-.* --reason 'a test'$/).waitFor();
    assert.deepEqual(await axe(), []);
    await dialog.getByRole('button', { name: '청구 포기' }).click();
    await page.getByText('거부된 정산이 없습니다.').waitFor();
    assertClean();
    await close();
  },
);

// pages:A11
test('the ledger is verified with a progress bar, stopped, and what differs is listed; a month is exported', async () => {
  const blocker = await gateway.database.connect(60_000);
  await blocker.query('BEGIN');
  await blocker.query('LOCK TABLE account_balance IN ACCESS EXCLUSIVE MODE');
  const { page, axe, assertClean, close } = await openPage('/books', 'support');
  await page.getByRole('button', { name: '원장 검증' }).click();
  await page.getByRole('progressbar').waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '중지' }).click();
  await page.getByRole('status').filter({ hasText: '중지됨' }).waitFor();
  await blocker.query('ROLLBACK');
  await blocker.end();
  await page.getByRole('button', { name: '원장 검증' }).click();
  await page.getByRole('status').filter({ hasText: '원장이 일치합니다' }).waitFor();

  await tamper(gateway.database, 'UPDATE account_balance SET entries = entries + 1');
  await page.getByRole('button', { name: '원장 검증' }).click();
  await page.getByRole('status').filter({ hasText: '원장에 불일치가 있습니다' }).waitFor();
  await page
    .getByRole('region', { name: '불일치 목록' })
    .getByText(/account \d+/)
    .first()
    .waitFor();
  await tamper(gateway.database, 'UPDATE account_balance SET entries = entries - 1');

  await page.getByRole('link', { name: /^월 마감:/ }).click();
  await page.getByLabel('종료일').fill('2026-01-01');
  await page.getByText('종료일이 시작일보다 빠릅니다').waitFor();
  await page.getByLabel('시작일').fill('2026-01-01');
  await page.getByText('이 기간에는 내역이 없습니다').first().waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV 저장' }).click();
  assert.equal((await download).suggestedFilename(), 'ledger-2026-01-01-2026-01-01.csv');
  assert.match(readFileSync(await (await download).path(), 'utf8'), /^\uFEFF계정 ID,/);
  assertClean();
  await close();
});
