import { isIPv6 } from 'node:net';
import type { Config } from '../config/config.ts';
import type { DemoAccount } from './demo-account.ts';

/** The URL that a server listens on. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** The banner of the first start: the keys of the demo account and a working example. */
export function welcome(demo: DemoAccount, config: Config, port: number): string {
  return `
  Welcome to Naru. A demo account with ₩10,000 of credit is ready. Its keys are shown only once:

    inference key    ${demo.inferenceKey}
    management key   ${demo.managementKey}

  Try it from another terminal:

${example(demo, config, urlOf(reachable(config.listen.host), port))}

`;
}

/** The same for a program: one JSON object. */
export function welcomeRow(demo: DemoAccount): object {
  return {
    event: 'demo_account',
    account_id: demo.accountId,
    key: demo.inferenceKey,
    management_key: demo.managementKey,
  };
}

function example(demo: DemoAccount, config: Config, url: string): string {
  const ids = config.models.map((model) => model.id);
  const id = ids.includes('naru/demo') ? 'naru/demo' : ids[0];
  if (id === undefined) return `curl ${url}/api/v1/key -H 'Authorization: Bearer ${demo.inferenceKey}'`;
  const question = id === 'naru/demo' ? '나루가 뭐야?' : '안녕하세요!';
  const body = JSON.stringify({ model: id, messages: [{ role: 'user', content: question }] });
  return [
    `curl ${url}/api/v1/chat/completions`,
    `-H 'Authorization: Bearer ${demo.inferenceKey}'`,
    "-H 'Content-Type: application/json'",
    `-d '${body.replaceAll("'", "'\\''")}'`,
  ].join(' ');
}

/** A server that listens on all addresses is reachable at the loopback address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
