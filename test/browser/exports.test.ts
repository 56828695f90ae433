/**
 * The files that the browser makes of tables: every view of both applications is opened with 1,000 rows
 * of each list (250 in the quick tier, more than a page of any), and every table of it is saved as CSV and as JSON. A new page needs a view here, a new
 * table a line of what it must have.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Area } from '../../src/pages/page-session.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type ManyRows, makeManyRows } from '../harness/many-rows.ts';
import { TestSessions } from '../harness/pages.ts';
import { byTier } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { viewsOf } from './views.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let many: ManyRows;
let browser: TestBrowser;

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      sessions,
      models: [{ id: 'test/model', upstreams: [upstream.url] }],
      config: { limits: { requests_per_second: 100_000 } },
    }),
    startBrowser(),
  ]);
  many = await makeManyRows(gateway, byTier(250, 1_000), 'test/model');
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

interface Expected {
  /** How many rows there are beside those of `makeManyRows`. */
  readonly more?: number;
  readonly sums?: Readonly<Record<string, () => bigint>>;
}
const usage = () => many.sums.usage;
const balance = () => many.sums.credits - many.sums.usage;
const topUps = () => many.sums.credits - 1_000_000_000_000n;
const requests: Expected = { sums: { cost_krw: usage } };
const apps: Expected = { sums: { cost_krw: usage } };
const ledger: Expected = { more: 2, sums: { amount_krw: balance } };
/** What each table has; null: as many rows as the configuration or the server has parts. */
const expected: Readonly<Record<string, Expected | null>> = {
  requests,
  'account-requests': requests,
  'all-requests': requests,
  apps,
  'account-apps': apps,
  transactions: ledger,
  'account-ledger': ledger,
  usage: null,
  'inference-keys': { more: 1, sums: { used_krw: usage, limit_krw: () => many.sums.limits } },
  'account-keys': { more: 1, sums: { spend_krw: usage, limit_krw: () => many.sums.limits } },
  'console-keys': { more: 1, sums: { spend_krw: usage, limit_krw: () => many.sums.limits } },
  'top-ups': { sums: { amount_krw: topUps } },
  'console-top-ups': { sums: { amount_krw: topUps } },
  'console-payments': {},
  lots: { more: 1, sums: { remaining_krw: balance } },
  accounts: { more: 1, sums: { balance_krw: balance, spend_krw: usage } },
  'liability-lots': {},
  announcements: {},
  quarantine: { sums: { cost_krw: () => many.sums.quarantined } },
  sessions: {},
  messages: {},
  'open-sessions': null,
  audit: null,
  'price-history': { more: 1 },
  'exchange-history': {},
  'liability-ages': null,
  'liability-expiring': null,
  'liability-issued': null,
  'app-ranking': null,
  'model-ranking': null,
  candidates: null,
  configuration: null,
  'configuration-differences': null,
  datasets: null,
  'exchange-effect': null,
  gpus: null,
  models: null,
  'model-candidates': null,
  'month-margin': null,
  'month-statements': null,
  nodes: null,
  'now-candidates': null,
  'now-errors': null,
  'now-first-tokens': null,
  'now-slots': null,
  'operator-tokens': null,
  operators: null,
  prices: null,
  slots: null,
};

async function saved(page: Page, at: number, format: 'CSV' | 'JSON'): Promise<{ id: string; text: string }> {
  await page.getByRole('button', { name: '내보내기', exact: true }).nth(at).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: format, exact: true }).click(),
  ]);
  const id = download.suggestedFilename().replace(/^naru-|\.(?:csv|json)$/g, '');
  return { id, text: readFileSync(await download.path(), 'utf8') };
}

/** Cells by line, with quotes and line breaks in them. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain = '', end] of text
    .replace(/^\uFEFF/, '')
    .matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

/** Micro-won of a decimal amount of won; zero where there is none. */
function microOf(won: unknown): bigint {
  if (won === null || won === '') return 0n;
  const [, sign, whole = '', fraction = ''] =
    /^(-?)(\d+)\.(\d{6})$/.exec(won as string) ?? assert.fail(`${won} has no six decimals`);
  const micro = BigInt(whole + fraction);
  return sign === '-' ? -micro : micro;
}

function assertFile(csv: { id: string; text: string }, json: { id: string; text: string }): void {
  const { id } = csv;
  const known = expected[id];
  assert.ok(known !== undefined, `state what the table ${id} must have`);
  const rows = JSON.parse(json.text) as Readonly<Record<string, unknown>>[];
  const [head = [], ...lines] = parseCsv(csv.text);
  assert.equal(lines.length, rows.length, `${id}: rows of CSV and of JSON`);
  assert.doesNotMatch(`${head.join()} ${Object.keys(rows[0] ?? {}).join()}`, /micro/i, id);
  const members = Object.keys(rows[0] ?? {});
  assert.equal(head.length, members.length, id);
  const totals = new Map<string, bigint>();
  for (const [at, member] of members.entries()) {
    const isMoney = member.endsWith('_krw');
    assert.equal(head[at]?.endsWith(' (KRW)'), isMoney, `${id}: ${member} is ${head[at]}`);
    if (!isMoney) continue;
    const total = rows.reduce((sum, row) => sum + microOf(row[member]), 0n);
    assert.equal(
      lines.reduce((sum, line) => sum + microOf(line[at]), 0n),
      total,
      `${id}: ${member} of CSV and of JSON`,
    );
    totals.set(member, total);
  }
  // One model was called, and each key and each top-up is an act beside a few others.
  if (id === 'usage') assert.equal(totals.get('cost_krw'), usage());
  if (id === 'month-statements') assert.equal(totals.get('change_krw'), balance());
  if (id === 'audit') assert.equal(rows.length, 2 * many.count + 3);
  if (known === null) return;
  if (known === requests)
    for (const member of ['generation_id', 'request_id', 'error_type'])
      assert.ok(members.includes(member), id);
  const refused = known === requests ? many.refused : 0;
  assert.equal(rows.length, many.count + refused + (known.more ?? 0), id);
  for (const [member, sum] of Object.entries(known.sums ?? {}))
    assert.equal(totals.get(member), sum(), `${id}: ${member}`);
}

// pages:U2,U3,U4,U5,U6,U7,U8,U9,U12,A1,A2,A3,A5,A7,A8,A9,A12
for (const area of ['dashboard', 'console'] as const)
  test(
    `every table of the ${area} is saved whole, in won, and its sums are those of the ledger`,
    { skip: byTier(area === 'console', false) },
    () => saveEveryTable(area),
  );

async function saveEveryTable(area: Area): Promise<void> {
  const served = area === 'dashboard' ? gateway.origin : `http://127.0.0.1:${gateway.gateway.admin.port}`;
  const origin = await browser.reach(area, served);
  const { page, context, close } = await browser.open(origin);
  const cookie =
    area === 'dashboard'
      ? { name: 'naru_session', value: sessions.owner(many.account.accountId) }
      : { name: 'naru_console', value: sessions.operator('admin') };
  await context.addCookies([{ ...cookie, url: `${origin}/${area}` }]);
  const views = viewsOf(area);
  for (const view of Object.keys(tablesOf[area])) assert.ok(views.includes(view), view);
  for (const view of views) {
    await page.goto(`/${area}${view}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('status', { name: '불러오는 중' }).first().waitFor({ state: 'detached' });
    await page.waitForLoadState('networkidle').catch(() => {});
    const tables = tablesOf[area][view] ?? [];
    // A busy machine shows a table later than that.
    if (tables.length > 0)
      await page
        .getByRole('button', { name: '내보내기', exact: true })
        .nth(tables.length - 1)
        .waitFor();
    const count = await page.getByRole('button', { name: '내보내기', exact: true }).count();
    const seen = new Set<string>();
    for (let at = 0; at < count; at += 1) {
      const csv = await saved(page, at, 'CSV');
      assertFile(csv, await saved(page, at, 'JSON'));
      seen.add(csv.id);
    }
    assert.deepEqual(
      tables.filter((id) => !seen.has(id)),
      [],
      view,
    );
  }
  await close();
}

/** The tables that a view must have, by application. */
const tablesOf: Readonly<Record<Area, Readonly<Record<string, readonly string[]>>>> = {
  dashboard: {
    '/requests': ['requests'],
    '/apps': ['apps'],
    '/keys': ['inference-keys'],
    '/credits': ['lots', 'top-ups'],
    '/transactions': ['transactions'],
    '/settings': ['sessions'],
  },
  console: {
    '/requests': ['all-requests'],
    '/accounts': ['accounts'],
    '/accounts/1?tab=requests': ['account-requests'],
    '/accounts/1?tab=apps': ['account-apps'],
    '/accounts/1?tab=keys': ['account-keys'],
    '/accounts/1?tab=ledger': ['account-ledger'],
    '/keys': ['console-keys'],
    '/top-ups?state=all': ['console-top-ups', 'console-payments'],
    '/liability': ['liability-lots'],
    '/announcements': ['announcements'],
    '/prices': ['prices', 'price-history'],
    '/exchange': ['exchange-history'],
    '/quarantine?view=all': ['quarantine'],
  },
};
