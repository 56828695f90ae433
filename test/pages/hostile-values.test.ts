/** Whatever a reader puts into a path or a query, the pages answer or refuse it; nothing breaks. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRows } from '../../src/pages/console/rows.ts';
import type { ConsoleContext, DashboardContext } from '../../src/pages/context.ts';
import { cursorOf } from '../../src/pages/cursor.ts';
import { dashboardRows } from '../../src/pages/dashboard/rows.ts';
import type { AnyPageRoute } from '../../src/pages/page-route.ts';
import { pageErrorShape } from '../../src/pages/shapes.ts';
import { pathParameters, queryParameters } from '../../src/wire/openapi-parts.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { RawClient } from '../harness/raw-client.ts';
import { byTier } from '../harness/tier.ts';

const sessions = new TestSessions();
const rows: readonly AnyPageRoute[] = [
  ...dashboardRows({} as DashboardContext),
  ...consoleRows({} as ConsoleContext),
];
/** A stream does not end by itself. */
const reads = rows.filter(({ method, format }) => method === 'GET' && format !== 'stream');
/** What rows of usage need. */
const needed: Readonly<Record<string, string>> = {
  by: 'model',
  step: 'day',
  of: 'ttft',
  models: 'a/b',
  month: '2026-11',
};

const hostile = [
  '',
  '0',
  '-1',
  '1e9',
  '9007199254740993',
  '99999999999999999999999999',
  'NaN',
  '0x10',
  '1;DROP TABLE account',
  "' OR 1=1 --",
  '\u0000',
  '\ud83d',
  '%',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  'a,'.repeat(500),
  'x'.repeat(4_000),
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '+275760-09-13T00:00:00Z',
  '0000-01-01',
  '0000-01-01T00:00:00Z',
  '9999-12',
  '9999-12-31',
  cursorOf(['0000-01-01', null]),
  cursorOf(['9999-12-31', Number.MAX_SAFE_INTEGER]),
  'constructor',
  '__proto__',
  '2026-02-30T00:00:00Z',
  '2026-13',
  'gen-9999999999-ZZZZZZZZZZZZZZZ',
  'ffffffffffffffffffffffffffffffff',
];

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema?: { readonly format?: string };
}

let gateway: TestGateway;
let account: TestAccount;

before(async () => {
  gateway = await startTestGateway({ sessions });
  account = await gateway.account();
  await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'no/model', messages: [{ role: 'user', content: 'x' }] },
  });
  await gateway.settled();
});
after(() => gateway?.close());

test('no value of a parameter breaks a read, twice or once; a refusal has its shape', async () => {
  const browsers = {
    dashboard: new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId)),
    console: new PageBrowser(
      `http://127.0.0.1:${gateway.gateway.admin.port}`,
      'console',
      sessions.operator('admin'),
    ),
  };
  let tried = 0;
  for (const row of reads) {
    const browser = row.area === 'dashboard' ? browsers.dashboard : browsers.console;
    const parameters = [
      ...pathParameters(row.path),
      ...queryParameters(row.query),
    ] as unknown as readonly Parameter[];
    for (const { name, in: place } of parameters)
      for (const value of hostile.filter((_, index) => byTier((index + tried) % 3 === 0, true))) {
        const { path, query } = addressOf(row.path, parameters);
        const filled = place === 'path' ? path.replace(`{${name}}`, encodeURIComponent(asText(value))) : path;
        if (place !== 'path') query.set(name, asText(value));
        if (place !== 'path' && value === '') query.append(name, 'again');
        const rest = filled.replaceAll(/\{(?:account|id)\}/g, String(account.accountId));
        const address = `${rest.slice(`/${row.area}/api`.length)}?${query}`;
        const response = await browser.send('GET', address);
        const { status, text } = response;
        assert.ok(status < 500, `${status} ${address.slice(0, 200)} ${text.slice(0, 300)}`);
        if (status >= 400) pageErrorShape.parse(response.json);
        tried += 1;
      }
  }
  assert.ok(tried > 500, String(tried));
});

test('a text with NUL, which the database does not store, is refused by its name', async () => {
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  for (const [body, name] of [
    [{ kind: 'inference', name: 'a\0b' }, 'name'],
    [{ kind: 'inference', name: 'a', limit_micro: ['\0'] }, 'limit_micro.0'],
  ] as const) {
    const { status, json } = await owner.send('POST', '/keys', { body });
    assert.equal(status, 400);
    assert.equal(json.error.message.en, `\`${name}\` must have no NUL character.`);
  }
  assert.equal((await owner.send('GET', '/generations?find=%00')).status, 400);
});

test('a date beyond the calendar, a long list and a long query are refused, a long cursor is not', async () => {
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  const refused = [
    '/usage/totals?range=custom&to=0000-01-01T00:00:00Z',
    '/usage/totals?range=custom&to=9999-12-31T23:59:59Z',
    '/ledger?month=9999-12',
    `/ledger?cursor=${cursorOf(['0000-01-01', null])}`,
    `/usage/totals?model=${'a,'.repeat(100)}`,
    `/generations?status=${'200,'.repeat(100)}200`,
    `/usage/totals?${'a&'.repeat(4_200)}`,
  ];
  for (const path of refused) assert.equal((await owner.send('GET', path)).status, 400, path.slice(0, 60));
  // A cursor of any length is read: that of the newest key begins at the first one.
  assert.equal((await owner.send('GET', `/keys?cursor=${'9'.repeat(30)}`)).status, 200);
});

test('a Host that is no host is refused where an address is made from it', async () => {
  const client = await RawClient.open(Number(new URL(gateway.origin).port));
  client.write('GET /dashboard/api/sign-in/oidc/callback HTTP/1.1\r\nHost: [\r\n\r\n');
  assert.equal((await client.response())?.status, 400);
  client.close();
});

/** The path with its parameters, and the query that the row needs. */
function addressOf(path: string, parameters: readonly Parameter[]) {
  const query = new URLSearchParams();
  for (const { name, in: place, schema } of parameters) {
    const value = needed[name] ?? (schema?.format === 'date' ? '2026-11-30' : undefined);
    if (place === 'query' && value !== undefined) query.set(name, value);
  }
  return { path: path.replace('{hash}', account.hash), query };
}

/** A lone surrogate becomes the character for it, as a browser sends it. */
function asText(value: string): string {
  return value.toWellFormed();
}
