/**
 * No list and no file of the pages loses a row or falsifies an amount: every row of the page API with
 * pages is read to its end, and every file of the server, with 1,000 rows each; the longest with 10,000.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRows } from '../../src/pages/console/rows.ts';
import type { ConsoleContext, DashboardContext } from '../../src/pages/context.ts';
import { dashboardRows } from '../../src/pages/dashboard/rows.ts';
import type { AnyPageRoute } from '../../src/pages/page-route.ts';
import { isoDay, periodAt, seoulDayAt } from '../../src/time/period.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type ManyRows, makeManyRows } from '../harness/many-rows.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { paymentConfig } from '../harness/toss.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
const reads = [...dashboardRows({} as DashboardContext), ...consoleRows({} as ConsoleContext)].filter(
  ({ method }) => method === 'GET',
);
let upstream: Upstream;
let gateway: TestGateway;
let many: ManyRows;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    sessions,
    models: [{ id: 'test/model', upstreams: [upstream.url] }],
    config: { limits: { requests_per_second: 100_000 }, ...paymentConfig('http://127.0.0.1:9') },
  });
  many = await makeManyRows(gateway, 1_000, 'test/model');
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

function browserOf({ area }: AnyPageRoute): PageBrowser {
  return area === 'dashboard'
    ? new PageBrowser(gateway.origin, area, sessions.owner(many.account.accountId))
    : new PageBrowser(`http://127.0.0.1:${gateway.gateway.admin.port}`, area, sessions.operator('viewer'));
}

function pathOf({ path, area }: AnyPageRoute): string {
  return path.slice(`/${area}/api`.length).replaceAll('{account}', String(many.account.accountId));
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every list.
type Row = any;

/** This month in Seoul. */
function daysOfMonth(): string {
  const { startMs, endMs } = periodAt('monthly', gateway.clock.now());
  return `from=${isoDay(seoulDayAt(startMs))}&to=${isoDay(seoulDayAt(endMs) - 1)}`;
}

async function wholeList(route: AnyPageRoute, isOfDays: boolean): Promise<readonly Row[]> {
  const browser = browserOf(route);
  const rows: Row[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `cursor=${encodeURIComponent(cursor)}`;
    const path = `${pathOf(route)}?${isOfDays ? `${daysOfMonth()}&` : ''}${query}`;
    const page: { items: Row[]; next: string | null } = await browser.get(path);
    assert.ok(cursor === '' || page.items.length > 0, 'no page is empty');
    rows.push(...page.items);
    cursor = page.next;
  }
  return rows;
}

interface Expected {
  readonly isOfDays?: true;
  /** In place of the 1,000. */
  readonly count?: number;
  /** How many rows there are beside them. */
  readonly more?: number;
  readonly sums?: Readonly<Record<string, () => bigint>>;
}

const usage = () => many.sums.usage;
const balance = () => many.sums.credits - many.sums.usage;
const topUps = () => many.sums.credits - 1_000_000_000_000n;
const ledger: Expected = { more: 2, sums: { amount_micro: balance } };
const keys: Expected = { more: 1, sums: { usage_total_micro: usage, limit_micro: () => many.sums.limits } };
const expected: Readonly<Record<string, Expected>> = {
  '/dashboard/api/keys': keys,
  '/dashboard/api/topups': { sums: { amount_micro: topUps } },
  '/dashboard/api/payments': {},
  '/dashboard/api/messages/log': {},
  '/dashboard/api/ledger': ledger,
  '/dashboard/api/generations': { sums: { cost_micro: usage } },
  '/console/api/keys': keys,
  '/console/api/topups': { sums: { amount_micro: topUps } },
  '/console/api/payments': {},
  '/console/api/messages/log': {},
  '/console/api/accounts': { more: 1, sums: { balance_micro: balance } },
  '/console/api/accounts/{account}/ledger': ledger,
  '/console/api/accounts/{account}/generations': { sums: { cost_micro: usage } },
  '/console/api/generations': { sums: { cost_micro: usage } },
  '/console/api/announcements': {},
  '/console/api/audit': { more: 1_003 },
  '/console/api/prices/history': { more: 1 },
  '/console/api/books/statements': { isOfDays: true, count: 1 },
  '/console/api/liability/expiring': {},
  '/console/api/quarantine': { sums: { cost_micro: () => many.sums.quarantined } },
};

function isPaged({ response }: AnyPageRoute): boolean {
  const shape = response.shape ?? {};
  return 'items' in shape && 'next' in shape;
}

/** A refused request is a record too. */
function refusedIn(path: string): number {
  return /\/generations(\.csv)?$/.test(path) ? many.refused : 0;
}

test('every list with pages has every row once, and its sums are those of the ledger', async () => {
  const paged = reads.filter(isPaged);
  assert.deepEqual(paged.map(({ path }) => path).sort(), Object.keys(expected).sort());
  for (const route of paged) {
    const {
      isOfDays = false,
      count = many.count,
      more = 0,
      sums = {},
    } = expected[route.path] ?? assert.fail(route.path);
    const rows = await wholeList(route, isOfDays);
    assert.equal(rows.length, count + more + refusedIn(route.path), route.path);
    // An expiring lot has no id.
    const names = new Set(rows.map((row) => JSON.stringify(row)));
    assert.equal(names.size, rows.length, route.path);
    for (const [member, sum] of Object.entries(sums)) assert.equal(sumOf(rows, member), sum(), route.path);
  }
});

function sumOf(rows: readonly Row[], member: string): bigint {
  return rows.reduce((sum, row) => sum + BigInt(row[member] ?? 0), 0n);
}

test('the lists without pages have every row too', async () => {
  const owner = browserOf({ area: 'dashboard' } as AnyPageRoute);
  const operator = browserOf({ area: 'console' } as AnyPageRoute);
  const apps = (await owner.get('/apps?range=30d')).items;
  assert.equal(apps.filter(({ name }: Row) => /^app \d+$/.test(name)).length, many.count);
  assert.equal(
    apps.reduce((sum: bigint, { sums }: Row) => sum + BigInt(sums.cost_micro), 0n),
    usage(),
  );
  const lots = await owner.get('/lots');
  assert.equal(lots.items.length, many.count + 1);
  assert.equal(sumOf(lots.items, 'remaining_micro'), balance());
  assert.equal((await owner.get('/sessions')).items.length, many.count);
  const groups = (await owner.get('/usage/groups?by=key&range=30d&limit=5')).items;
  assert.equal(
    groups.reduce((sum: bigint, { sums }: Row) => sum + BigInt(sums.cost_micro), 0n),
    usage(),
  );
  assert.equal((await operator.get('/exchange')).published.length, many.count);
});

/** The columns of a CSV file by heading; no cell of these files has a line break. */
function parseCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = [], ...rows] = text
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split('\r\n')
    .map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) => cell));
  return rows.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at] ?? ''])));
}

/** Micro-won of a decimal amount. */
function microOf(text: string): bigint {
  const [, sign, whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? assert.fail(text);
  const micro = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}

const headings = {
  ko: '계정 ID,계정,날짜 (KST),시각 (KST),종류,금액 (KRW),요청,원장 항목,생성 ID,메모',
  en: 'Account ID,Account,Day (KST),Time (KST),Kind,Amount (KRW),Requests,Ledger entry,Generation ID,Memo',
};

test('the file of the ledger has every row, in won, with headings in the language of the page', async () => {
  const routes = reads.filter(({ format }) => format === 'csv');
  assert.deepEqual(
    routes.map(({ path }) => path),
    ['/console/api/books/csv'],
  );
  const browser = browserOf({ area: 'console' } as AnyPageRoute);
  for (const [language, heading] of Object.entries(headings)) {
    const response = await browser.send('GET', `/books/csv?${daysOfMonth()}&language=${language}`);
    assert.equal(response.status, 200, response.text);
    assert.equal(response.text.replace(/^\uFEFF/, '').split('\r\n')[0], heading);
    const rows = parseCsv(response.text);
    assert.equal(rows.length, many.count + 2);
    const amount = language === 'ko' ? '금액 (KRW)' : 'Amount (KRW)';
    assert.equal(
      rows.reduce((total, row) => total + microOf(row[amount] ?? ''), 0n),
      balance(),
    );
  }
});

test('lists of 10,000 requests, entries and accounts are read, searched and saved whole', async () => {
  const more = 9_000;
  const { database, clock } = gateway;
  const { accountId } = many.account;
  await database.query(
    `INSERT INTO generation SELECT (jsonb_populate_record(g, jsonb_build_object(
       'id', overlay(id::text placing right(md5(id::text || n), 12) from 25)))).*
     FROM generation g, generate_series(1, $2::int / $3) n WHERE account_id = $1 AND cost > 0`,
    [accountId, more, many.count],
  );
  await database.query(
    `INSERT INTO ledger (account_id, id, kind, amount, memo, created_at, link_rest)
     SELECT $1, last + n, 6, 1, 'test', to_timestamp($3 / 1000.0), 0
     FROM (SELECT max(id) AS last FROM ledger WHERE account_id = $1) l, generate_series(1, $2) n`,
    [accountId, more, clock.now()],
  );
  await database.query(
    `WITH made AS (INSERT INTO account (name, created_at)
       SELECT 'customer ' || n, now() FROM generate_series(1, $1) n RETURNING id)
     INSERT INTO account_balance (account_id) SELECT id FROM made`,
    [more],
  );
  await database.query('ANALYZE');
  for (const route of reads.filter(({ path }) => /\/(?:generations|ledger|accounts)$/.test(path))) {
    const rows = await wholeList(route, false);
    const beside = (expected[route.path]?.more ?? 0) + refusedIn(route.path);
    assert.equal(new Set(rows.map(({ id }) => id)).size, many.count + more + beside, route.path);
    assert.equal(rows.length, many.count + more + beside, route.path);
  }
  const operator = browserOf({ area: 'console' } as AnyPageRoute);
  const found = await operator.get('/accounts?search=customer%209000');
  assert.deepEqual(
    found.items.map(({ name }: Row) => name),
    ['customer 9000'],
  );
  const file = await operator.send('GET', `/books/csv?${daysOfMonth()}`);
  assert.equal(parseCsv(file.text).length, many.count + more + 2);
});
