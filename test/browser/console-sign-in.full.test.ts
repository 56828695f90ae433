/** The ways into the console at its public address, in a real browser: a passkey, and a real OpenID provider. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type OpenIdProvider, startProvider, statePerson } from '../identity/openid-provider.ts';
import { addAuthenticator } from './authenticator.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

let gateway: TestGateway;
let browser: TestBrowser;
let provider: OpenIdProvider;
let origin = '';

before(async () => {
  browser = await startBrowser();
  origin = await browser.reach('console', 'http://127.0.0.1:1');
  provider = await startProvider(`${origin}/console/api/sign-in/oidc/callback`);
  gateway = await startTestGateway({
    config: {
      admin: { host: '127.0.0.1', port: 0, public_url: origin },
      edge: { trusted_proxies: ['127.0.0.1'] },
      auth: {
        public_url: 'https://naru.example',
        oidc: {
          issuer: provider.issuer,
          client_id: 'naru',
          client_secret: 'secret-of-the-client',
          operator_roles: { ops: 'viewer' },
        },
      },
    },
  });
  await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  provider?.stop();
});

// spec:operator/4.4
test('an operator opens a link, adds a passkey, and signs in with it', async () => {
  const { identity } = gateway.operator;
  const cli = { kind: 'cli', name: 'tests' } as const;
  const added = await identity.operators.add({ name: '김 운영', role: 'viewer' }, cli);
  if (typeof added === 'string') assert.fail(added);
  const link = await identity.links.openConsole(added, cli);
  const { page, context, axe, assertClean, close } = await browser.open(origin);
  await page.goto(`/console/link#${link.token}`);
  await page.getByRole('button', { name: '콘솔 열기' }).click();
  await page.waitForURL(/\/console\/$/);
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '설정' }).click();
  const authenticator = await addAuthenticator(context, page);
  await page.bringToFront();
  await page.getByLabel('패스키 이름').fill('노트북');
  await page.getByRole('button', { name: '패스키 추가' }).click();
  await page.getByRole('button', { name: '노트북 삭제' }).waitFor();
  await page.getByRole('table').getByText('이 기기').waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '로그아웃' }).click();
  await page.waitForURL(/\/console\/sign-in/);
  await page.goto('/console/sign-in?next=/console/settings');
  // A browser makes and uses passkeys only in the window that has the focus.
  await page.bringToFront();
  await page.getByRole('button', { name: '패스키로 로그인' }).click();
  await page.getByRole('heading', { level: 1, name: '설정' }).waitFor();
  assertClean();
  await authenticator.detach();
  await close();
});

// spec:operator/4.3
test('an operator signs in at the provider; without a group a page says what to ask for', async () => {
  for (const [person, result] of [
    ['b1|lee@example.com|true|guests', /\/console\/sign-in\?refused=no_group$/],
    ['b2|park@example.com|true|ops', /\/console\/$/],
  ] as const) {
    const { page, axe, close } = await browser.open(origin);
    await page.goto('/console/sign-in');
    const subject = await statePerson(provider.issuer, person);
    await page.getByRole('button', { name: '회사 계정으로 로그인' }).click();
    await page.locator('input[name=login]').fill(subject);
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(result);
    if (subject === 'b1') {
      await page.getByText('콘솔을 사용할 수 있는 그룹에 속해 있지 않습니다', { exact: false }).waitFor();
      assert.deepEqual(await axe(), []);
    } else {
      // The strict cookie of the session counts although another site led here.
      await page.getByRole('button', { name: '내 계정' }).click();
      await page.getByText('park@example.com', { exact: false }).waitFor();
    }
    await close();
  }
});
