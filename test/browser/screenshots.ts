/**
 * `npm run screenshots [text]`: renders pages in both languages and themes, at 1440 and 390 px,
 * into `.cache/screenshots`. With a text only the images whose name contains it, such as
 * `components-ko-dark`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseEmail } from '../../src/identity/email.ts';
import { serverVariable } from '../harness/database.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startTestServer } from '../harness/test-server.ts';
import { startUpstream } from '../harness/upstream.ts';
import { languages, startBrowser, themes, widths } from './browser.ts';
import { shots } from './shots.ts';

const folder = join(import.meta.dirname, '../../.cache/screenshots');
const [wanted = ''] = process.argv.slice(2);

mkdirSync(folder, { recursive: true });
const server = await startTestServer((line) => console.error(line));
process.env[serverVariable] = JSON.stringify(server.connection);
const sessions = new TestSessions();
const upstream = await startUpstream();
const models = ['acme/large', 'acme/small'].map((id) => ({ id, upstreams: [upstream.url] }));
const gateway = await startTestGateway({ sessions, models, config: { datasets: { samples: true } } });
const account = await gateway.account();
await addOwner(account.accountId);
for (const [title, referer, model] of [
  ['Web shop', 'https://shop.example', 'acme/large'],
  ['Web shop', 'https://shop.example', 'acme/small'],
  ['Support desk', '', 'acme/large'],
] as const)
  await gateway.send('POST', '/chat/completions', {
    key: account.key,
    headers: { 'x-title': title, ...(referer === '' ? {} : { 'http-referer': referer }) },
    body: { model, messages: [{ role: 'user', content: 'hello' }] },
  });
await gateway.settled();
const browser = await startBrowser();
try {
  for (const shot of shots)
    for (const language of languages)
      for (const theme of themes)
        for (const width of widths) {
          const name = `${shot.name}-${language}-${theme}-${width}`;
          if (!name.includes(wanted)) continue;
          const view = await browser.open(gateway.origin, { language, theme, width });
          if (shot.isSignedIn === true) {
            const value = sessions.owner(account.accountId);
            const cookie = { name: 'naru_session', value, url: `${gateway.origin}/dashboard` };
            await view.context.addCookies([cookie]);
          }
          await shot.show(view.page);
          await view.page.evaluate('document.fonts.ready');
          await view.page.screenshot({ path: join(folder, `${name}.png`), fullPage: shot.isWhole });
          await view.close();
          console.log(`${name}.png`);
        }
} finally {
  await browser.close();
  await gateway.close();
  await upstream.close();
  await server.stop();
}

/** The first owner of all, whom the sessions of this program name. */
async function addOwner(accountId: number): Promise<void> {
  const email = parseEmail('owner@naru.example');
  const link = await gateway.operator.identity.links.invite(accountId, email, { kind: 'cli', name: 'shots' });
  if (typeof link === 'string') throw new Error(link);
  const body = { token: link.token, password: 'correct horse battery', name: '홍길동' };
  await new PageBrowser(gateway.origin, 'dashboard', null).send('POST', '/sign-in/link/redeem', { body });
}
