/**
 * The console of an operator: its shell, and the pages that show the service as it is. The quick
 * tier leaves a tested and a drained candidate to `test/pages/candidates.test.ts`, and the requests
 * behind a number to `test/pages/all-requests.test.ts` and to the figures of the moment here.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Role } from '../../src/pages/page-session.ts';
import { configuredEngine } from '../harness/fake-engine.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { TestSessions } from '../harness/pages.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';
import { checkPages, type PageCase } from './every-page.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: TestBrowser;
let origin = '';

const call = () =>
  gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
  });

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      sessions,
      config: { slots: [configuredEngine('local-a')] },
      models: [{ id: 'test/model', upstreams: [upstream.url] }],
    }),
    startBrowser(),
  ]);
  origin = await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
  account = await gateway.account();
  assert.equal((await call()).status, 200);
  upstream.next(reply.status(500));
  assert.equal((await call()).status, 502);
  await gateway.settled();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of an operator at a page of the console. */
async function openPage(path: string, role: Role, options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  const value = sessions.operator(role);
  await view.context.addCookies([{ name: 'naru_console', value, url: `${origin}/console` }]);
  await view.page.goto(`/console${path}`);
  return view;
}

const pages: readonly PageCase[] = [
  ['/', '실시간 현황', 'Now', /provider_error/],
  ['/requests', '요청 기록', 'Requests', /502 provider_error/],
  ['/open', '처리 중인 작업', 'Work in progress', /처리 중인 요청이 없습니다|No request is in progress/],
  ['/slots', '슬롯', 'Slots', /local-a/],
  ['/candidates', '제공자와 후보', 'Providers and candidates', /up1\/upstream-model/],
  ['/configuration', '설정값', 'Configuration', /listen\.(?:host|port)/],
];

// pages:A1,A4,A6,A13
test('every page shows real data, in both languages and themes, and axe finds nothing', async () => {
  await checkPages('console', pages, (path, options) => openPage(path, 'viewer', options), undefined, [
    'test key',
    'Upstream',
    'openai',
  ]);
});

// pages:A1
test(
  'an error of the last minutes leads to the requests of today with it, to one, and g n back',
  fullOnly,
  async () => {
    const { page, axe, assertClean, close } = await openPage('/', 'viewer');
    await page.getByRole('link', { name: 'provider_error' }).click();
    await page.getByRole('heading', { level: 1, name: '요청 기록' }).waitFor();
    await page.getByRole('button', { name: '오류 종류: provider_error' }).waitFor();
    const rows = page.getByRole('row', { name: /test\/model/ });
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    assert.deepEqual(await axe(), []);
    await page.getByRole('row', { name: /502 provider_error/ }).click();
    await page.waitForURL(`**/console/accounts/${account.accountId}/requests/gen-*`);
    await page.getByRole('heading', { level: 1, name: 'test/model' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { level: 1, name: '실시간 현황' }).waitFor();
    assertClean();
    await close();
  },
);

// pages:A1
test('the figures of the moment lead to the requests in flight and the unsettled records', async (t) => {
  const other = await startTestGateway({ beside: gateway });
  t.after(() => other.close());
  const isPart = '다른 노드 1개는 포함하지 않습니다';
  const barrier = gate();
  upstream.next(reply.chat('hello').pauseAt(0, barrier));
  const responding = call();
  await barrier.reached;
  const { page, axe, assertClean, close } = await openPage('/', 'viewer');
  await page.getByText(isPart).waitFor();
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByText('operator · 조회').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dl').first().getByRole('link', { name: '1', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: '처리 중인 작업' }).waitFor();
  await page
    .getByRole('row', { name: /test\/model/ })
    .getByText('응답 대기')
    .waitFor();
  await page.getByText(isPart).waitFor();
  assert.deepEqual(await axe(), []);
  barrier.open();
  await responding;
  await page.getByText('처리 중인 요청이 없습니다.').waitFor();
  await page.getByRole('button', { name: /정산 대기/ }).click();
  await page.getByText('정산을 기다리는 기록이 없습니다.').waitFor();
  assert.deepEqual(await axe(), []);
  assertClean();
  // Which nodes are left out must not be guessed.
  await page.route('**/console/api/nodes*', (route) => route.abort());
  await page.reload();
  await page.getByText('다른 노드가 있는지 알 수 없습니다').waitFor();
  assert.equal(await page.getByText(isPart).count(), 0);
  await close();
});

// pages:A6
test('a slot is started, pinned and stopped by an admin, and its state follows live', async () => {
  const { page, axe, assertClean, close } = await openPage('/slots', 'admin');
  const row = page.getByRole('row', { name: /local-a/ });
  await row.getByRole('button', { name: '시작' }).click();
  await row.getByText('준비됨').waitFor();
  await row.getByRole('button', { name: '고정' }).click();
  await row.getByRole('button', { name: '고정 해제' }).waitFor();
  await row.click();
  await page
    .getByRole('heading', { name: '엔진 출력' })
    .or(page.getByText('엔진이 출력한 내용이 없습니다.'))
    .waitFor();
  assert.deepEqual(await axe(), []);
  await row.getByRole('button', { name: '중지' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/사유/).fill('maintenance');
  await dialog.getByRole('button', { name: '중지' }).click();
  await row.getByText('꺼짐').waitFor();
  assertClean();
  await close();
});

// pages:A1,A6
test('a live view says why it is not live, rests while it is hidden, and goes on after the next sign-in', async () => {
  // The view of the window before may still count.
  const watch = () =>
    eventually('a live view begins', 10_000, async () => {
      const response = await fetch(`http://127.0.0.1:${gateway.gateway.admin.port}/console/api/slots/live`, {
        headers: { cookie: `naru_console=${sessions.operator('viewer')}` },
      });
      return response.status === 200 ? response : null;
    });
  const others = await Promise.all(Array.from({ length: 10 }, watch));
  const view = await browser.open(origin);
  const { page } = view;
  const signIn = async (): Promise<string> => {
    const value = sessions.operator('viewer');
    await view.context.addCookies([{ name: 'naru_console', value, url: `${origin}/console` }]);
    return value;
  };
  const token = await signIn();
  const live = page.getByRole('status').getByText('실시간', { exact: true });
  await page.goto('/console/slots');
  await page.getByText('실시간 화면이 너무 많이 열려 있습니다.', { exact: false }).waitFor();
  // Also keeps them from being collected, which would end them before.
  for (const { body } of others) await body?.cancel();
  await live.waitFor();
  await page.getByText('다른 서버의 슬롯은 그 서버의 콘솔에서', { exact: false }).waitFor();
  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  await show('hidden');
  await live.waitFor({ state: 'detached' });
  await show('visible');
  await live.waitFor();
  sessions.end(token);
  const ended = page.getByRole('dialog', { name: '로그인이 만료되었습니다' });
  await ended.waitFor();
  await signIn();
  await ended.getByRole('button', { name: '계속' }).click();
  await ended.waitFor({ state: 'detached' });
  await live.waitFor();
  await page.getByRole('row', { name: /local-a/ }).waitFor();
  await view.close();
});

// pages:A6
test('an operator who may not start a slot sees the reason, and the engine stays off', async () => {
  const { page, assertClean, close } = await openPage('/slots', 'viewer');
  const start = page.getByRole('row', { name: /local-a/ }).getByRole('button', { name: '시작' });
  await start.waitFor();
  assert.equal(await start.getAttribute('aria-disabled'), 'true');
  assert.match((await start.getAttribute('aria-description')) ?? '', /관리자/);
  await start.click({ force: true });
  assert.equal(gateway.gateway.slots.status('local-a').state, 'COLD');
  assertClean();
  await close();
});

// pages:A4
test('a candidate is tested with real calls, and a request is explained', fullOnly, async () => {
  const { page, axe, assertClean, close } = await openPage('/candidates', 'admin');
  await page
    .getByRole('row', { name: /test\/model/ })
    .getByRole('button', { name: '테스트' })
    .click();
  await page.getByRole('button', { name: '실제로 호출' }).click();
  await page.getByRole('dialog').getByText('정상').first().waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('dialog').getByRole('button', { name: '닫기' }).last().click();
  await page.getByLabel('키 해시').fill('sk-a-whole-key');
  await page.getByText(/16진수 6자리 이상/).waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByLabel('키 해시').fill('');
  await page.getByRole('button', { name: '계산' }).click();
  await page.getByText(/토큰 1,000개당 입력/).waitFor();
  assertClean();
  await close();
});

// pages:A4
test(
  'a candidate is drained with a reason, its requests fail with a message, and it is resumed',
  fullOnly,
  async () => {
    const { page, axe, assertClean, close } = await openPage('/candidates', 'admin');
    const row = page.getByRole('row', { name: /up1\/upstream-model/ });
    const decide = async (act: string): Promise<void> => {
      await row.getByRole('button', { name: act }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('사유').fill('new hardware');
      await dialog.getByRole('button', { name: act }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await decide('새 요청 중단');
    await row.getByText('new hardware').waitFor();
    await until('no request gets there', async () => (await call()).status === 404, 20_000);
    assert.deepEqual(await axe(), []);
    await decide('재개');
    await row.getByText('new hardware').waitFor({ state: 'detached' });
    await until('requests get there again', async () => (await call()).status === 200, 20_000);
    assertClean();
    await close();
  },
);
