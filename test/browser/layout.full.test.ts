/**
 * What the pages do with names of any length and script and with the largest amounts: nothing leaves
 * its container, money and states stay in sight, and nothing jumps while a page loads. Every view of
 * both applications, in both languages, at three widths; the quick tier takes a sample.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { Area } from '../../src/pages/page-session.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type ManyRows, makeManyRows } from '../harness/many-rows.ts';
import { TestSessions } from '../harness/pages.ts';
import { sample } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { languages, startBrowser, type TestBrowser } from './browser.ts';
import { viewsOf } from './views.ts';

const sessions = new TestSessions();
const widths = [1280, 1440, 390];
/** The layout shift of a page that loads, all in all. */
const maxShift = 0.2;
const longModel = `test/${'model'.repeat(20)}`;
const names = [
  '가나다라마바사아자차'.repeat(10),
  'Donaudampfschifffahrtsgesellschaft'.repeat(6).slice(0, 200),
  'خدمة الاستدلال للشركة الكورية '.repeat(4).trim(),
  '👩‍👩‍👧‍👦🏳️‍🌈🇰🇷'.repeat(12),
];
const largest = '999999999999999999';

let upstream: Upstream;
let gateway: TestGateway;
let many: ManyRows;
let browser: TestBrowser;
let addresses: Readonly<Record<Area, readonly string[]>>;

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      sessions,
      models: [
        { id: 'test/model', upstreams: [upstream.url] },
        { id: longModel, upstreams: [upstream.url] },
      ],
    }),
    startBrowser({ hasFonts: true }),
  ]);
  many = await makeManyRows(gateway, 30, longModel);
  await lengthen();
  const found = async (sql: string) => (await gateway.database.query<{ found: string }>(sql))[0]?.found;
  const request = await found(
    `SELECT 'gen-' || floor(extract(epoch FROM created_at))::text AS found FROM generation LIMIT 1`,
  );
  assert.ok(request !== undefined);
  const key = await found("SELECT encode(hash, 'hex') AS found FROM api_key LIMIT 1");
  const app = await found('SELECT id::text AS found FROM app WHERE id > 0 LIMIT 1');
  addresses = {
    dashboard: [...viewsOf('dashboard'), `/apps/${app}`, `/models/${longModel}`, '/components'],
    console: [...viewsOf('console'), `/keys/${key}`],
  };
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** Gives everything that has a name one of the long ones, and a few amounts all their digits. */
async function lengthen(): Promise<void> {
  const { database } = gateway;
  const name = `($1::text[])[1 + (id % 4)::int]`;
  const columns: Readonly<Record<string, readonly string[]>> = {
    account: ['name', 'email'],
    api_key: ['name'],
    app: ['name', 'url'],
    topup_request: ['depositor', 'note', 'reason'],
    announcement: ['text_ko', 'text_en', 'created_by'],
    operator: ['name'],
  };
  for (const [table, texts] of Object.entries(columns))
    await database.query(
      `UPDATE ${table} SET ${texts.map((column) => `${column} = left(${name}, ${table === 'app' ? 100 : 200})`).join(', ')}${
        table === 'app' ? ' WHERE id > 0' : ''
      }`,
      [names],
    );
  await database.query(
    "UPDATE page_session SET user_agent = $1, address = '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'",
    [names[1]],
  );
  await database.query(
    `INSERT INTO audit_entry (at, who, role, act, account_id, subject, reason) SELECT now(), $1, 'cli', 'test.act', $2, $1, $1`,
    [names[1], many.account.accountId],
  );
  await database.query(
    `INSERT INTO quarantined_settlement (generation_id, account_id, key_id, cost, record, reason, number)
     VALUES ('long', $1, 1, $2, '', $3, 1000)`,
    [many.account.accountId, largest, names[0]],
  );
  await database.query('UPDATE api_key SET limit_micro = $1', [largest]);
  await database.query('UPDATE topup_request SET amount = $1', [largest]);
  await gateway.operator.grantCredit({
    accountId: many.account.accountId,
    kind: 'bonus',
    amount: krwOfMicro(BigInt(largest)),
    expiresAtMs: gateway.clock.now() + 7 * 86_400_000,
    idempotencyKey: null,
    memo: null,
  });
}

interface Layout {
  readonly faults: readonly string[];
  readonly shift: number;
  readonly moved: readonly string[];
}

for (const area of ['dashboard', 'console'] as const)
  for (const width of widths)
    for (const language of languages)
      test(`nothing of the ${area} leaves its container or jumps, at ${width} px in ${language}`, async () => {
        const served =
          area === 'dashboard' ? gateway.origin : `http://127.0.0.1:${gateway.gateway.admin.port}`;
        const origin = await browser.reach(area, served);
        const { page, context, close } = await browser.open(origin, { width, language });
        const cookie =
          area === 'dashboard'
            ? { name: 'naru_session', value: sessions.owner(many.account.accountId) }
            : { name: 'naru_console', value: sessions.operator('admin') };
        await context.addCookies([{ ...cookie, url: `${origin}/${area}` }]);
        await (await context.newCDPSession(page)).send('Network.setCacheDisabled', { cacheDisabled: true });
        const found: string[] = [];
        for (const address of sample(addresses[area], 3)) {
          const { faults, shift, moved } = await layoutOf(page, `/${area}${address}`);
          console.log(`layout shift ${shift.toFixed(3)} ${area}${address} ${width} px ${language}`);
          found.push(...faults.map((fault) => `${address}: ${fault}`));
          if (shift > maxShift) found.push(`${address}: shift ${shift.toFixed(3)} by ${moved.join(' | ')}`);
        }
        await close();
        assert.deepEqual(found, []);
      });

const measure = readFileSync(join(import.meta.dirname, 'measure-layout.js'), 'utf8');

/** A page from an empty cache until it is quiet, and what is wrong with it. */
async function layoutOf(page: Page, address: string): Promise<Layout> {
  await page.goto(address);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.evaluate('document.fonts.ready');
  return await page.evaluate<Layout>(measure);
}
