import assert from 'node:assert/strict';
import { join } from 'node:path';
import { paymentConfig } from '../../harness/toss.ts';
import { Browser, startCaller } from './clients.ts';
import type { Machine } from './machine.ts';
import { blocksOf, commandsOf } from './pages.ts';
import { consoleSite, lastLine, ports, site, type Trial } from './steps.ts';

const root = join(import.meta.dirname, '../../..');

/** The quick start, up to the first call, an owner and two operators. */
export async function start(trial: Trial): Promise<void> {
  const quickStart = (anchor: string): string => `docs/quick-start.md#${anchor}`;
  await trial.step(quickStart('1-install'), { check: () => 'the command naru' });
  trial.first.write('/etc/naru/naru.yaml', configuration(trial, trial.first));
  await trial.step(quickStart('2-configure'), {
    words: {
      'sk-…': 'sk-first',
      "'…' > /etc/naru/s3": 'S3RVER > /etc/naru/s3',
      "'…' > /etc/naru/oidc": 'secret-of-the-client > /etc/naru/oidc',
    },
    check: (printed) => `config check: ${lastLine(printed).replace(/^.*: /, '')}`,
  });
  await trial.step(quickStart('3-start'), { check: () => 'doctor finds no fault' });
  await trial.step(quickStart('4-nginx'), {
    check: async () => {
      assert.equal((await fetch(`${site}/healthz`)).status, 200);
      return 'nginx passes requests on';
    },
  });
  let key = '';
  let invitation = '';
  const beganMs = performance.now();
  for (const command of commandsOf(quickStart('5-the-first-customer-and-the-first-call'))) {
    const { out } = await trial.first.run(command.replaceAll('sk-naru-v1-…', key));
    trial.ran.add(command);
    key = /sk-naru-v1-\w+/.exec(out)?.[0] ?? key;
    if (command.startsWith('naru account invite')) invitation = out;
    if (!command.startsWith('curl')) continue;
    const { usage, choices } = JSON.parse(out);
    assert.ok(usage.cost > 0 && choices[0].message.content.length > 0, out);
    trial.caller = startCaller(site, key);
    trial.calls.seen.costMicro += BigInt(Math.round(usage.cost * 1e6));
    trial.note(
      quickStart('5-the-first-customer-and-the-first-call'),
      beganMs,
      `a response of the own engine for ${usage.cost} won`,
    );
  }
  await signInAsOwner(trial, invitation, 'owner@example.com', 's1');
  await trial.step(quickStart('6-operators'), {
    check: async (printed) => {
      for (const { out } of printed) assert.equal((await openConsole(out)).status, 200);
      return 'both links open the console at its own name';
    },
  });
  await trial.step('docs/tasks.md#open-the-console-from-elsewhere', {
    check: async (printed) => {
      assert.equal((await openConsole(printed[0]?.out ?? '')).status, 200);
      return 'a link for an operator by name';
    },
  });
}

/** The example of the page with what stands for the names of the reader. */
function configuration(trial: Trial, machine: Machine): string {
  const [example = ''] = blocksOf('docs/quick-start.md#2-configure', 'yaml');
  const engine = [process.execPath, join(root, 'demo-engine/server.ts'), '--port', '{port}'];
  const changes: readonly (readonly [string, string])[] = [
    ['listen: { port: 8787 }', `listen: { port: ${machine.port} }`],
    ['port: 8788', `port: ${machine.adminPort}`],
    ['https://console.example.com', consoleSite],
    ['https://naru.example.com', site],
    [
      'issuer: https://login.example.com',
      `issuer: "${trial.parts.issuer.issuer}", operator_roles: { finance: admin }`,
    ],
    ['providers:', `payments: ${JSON.stringify(paymentConfig(trial.parts.toss.url).payments)}\nproviders:`],
    [
      'endpoint: https://s3.ap-northeast-2.amazonaws.com',
      `endpoint: ${trial.parts.s3.endpoint}\n    allow_http: true\n    path_style: true`,
    ],
    ['bucket: example-backups', `bucket: ${trial.parts.s3.bucket}`],
    ['access_key_id: EXAMPLE', 'access_key_id: S3RVER'],
    ['base_url: https://api.openai.com/v1', `base_url: "${trial.parts.upstream.url}"`],
    [
      'command: [llama-server, -m, /models/qwen3-8b.gguf, --port, "{port}"]',
      `model: naru-demo, command: ${JSON.stringify(engine)}`,
    ],
  ];
  return machine.placed(
    changes.reduce((text, [from, to]) => {
      assert.ok(text.includes(from), `the example has no ${from}`);
      return text.replace(from, to);
    }, example),
  );
}

/** Accepts the link that an operator sent, then signs in at the OpenID provider. */
export async function signInAsOwner(
  trial: Trial,
  printed: string,
  email: string,
  subject: string,
): Promise<void> {
  const beganMs = performance.now();
  const token = /\/dashboard\/link#(\S+)/.exec(printed)?.[1];
  const invited = new Browser(site, ports.nginx);
  const redeemed = await invited.send('POST', '/dashboard/api/sign-in/link/redeem', {
    token,
    password: `a password of ${subject}`,
  });
  assert.equal(redeemed.status, 200, redeemed.text);
  const browser = await signInAtProvider(trial, 'dashboard', `${subject}|${email}|true`);
  const account = await browser.send('GET', '/dashboard/api/account');
  assert.equal(account.status, 200, account.text);
  trial.note(
    'the dashboard',
    beganMs,
    `${email} sets a password by the link, then signs in by OpenID Connect`,
  );
}

/** Signs a person of the OpenID provider in to the dashboard or the console; throws when it is refused. */
export async function signInAtProvider(
  trial: Trial,
  pages: 'dashboard' | 'console',
  person: string,
): Promise<Browser> {
  const browser =
    pages === 'console' ? new Browser(consoleSite, ports.console) : new Browser(site, ports.nginx);
  const { text } = await browser.send('POST', `/${pages}/api/sign-in/oidc`);
  const back = await trial.parts.issuer.visit(JSON.parse(text).url, person);
  const { location } = await browser.send('GET', back.pathname + back.search);
  assert.equal(location, `/${pages}/`);
  return browser;
}

/** Opens a one-time link of the console as a browser does. */
async function openConsole(out: string): Promise<{ readonly status: number }> {
  const token = /\/console\/link#(\S+)/.exec(out)?.[1];
  return new Browser(consoleSite, ports.console).send('POST', '/console/api/sign-in/link', { token });
}
