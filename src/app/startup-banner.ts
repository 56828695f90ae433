import type { Config } from '../config/config.ts';
import { reachableUrl } from '../http/urls.ts';
import { linkUrl, pageOrigins } from '../identity/page-links.ts';
import type { DemoAccount } from '../operations/demo-account.ts';

/** The ports that a server listens on. */
export interface Ports {
  readonly listen: number;
  readonly admin: number;
}

/** The banner of the first start: the links and keys of the demo account and a working example. */
export function welcome(demo: DemoAccount, config: Config, ports: Ports): string {
  const links = linksOf(demo, config, ports);
  return `
  Welcome to Naru. A demo account with ₩10,000 of credit is ready. Open it in a browser; each link works once:

    dashboard        ${links.dashboard}
${links.console === null ? '' : `    console          ${links.console}\n`}
  Its keys are shown only once:

    inference key    ${demo.inferenceKey}
    management key   ${demo.managementKey}

  Try it from another terminal:

${example(demo, config, reachableUrl(config.listen.host, ports.listen))}

`;
}

/** The same for a program: one JSON object. */
export function welcomeRow(demo: DemoAccount, config: Config, ports: Ports): object {
  const links = linksOf(demo, config, ports);
  return {
    event: 'demo_account',
    account_id: demo.accountId,
    key: demo.inferenceKey,
    management_key: demo.managementKey,
    dashboard_url: links.dashboard,
    console_url: links.console,
  };
}

function linksOf(demo: DemoAccount, config: Config, ports: Ports) {
  const origins = pageOrigins(config, ports);
  return {
    dashboard: linkUrl(origins, demo.dashboardLink),
    console: demo.consoleLink === null ? null : linkUrl(origins, demo.consoleLink),
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
