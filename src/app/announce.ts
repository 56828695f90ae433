import type { Config } from '../config/config.ts';
import { reachableUrl, urlOf } from '../http/urls.ts';
import { linkUrl, pageOrigins } from '../identity/page-links.ts';
import { createDemoAccount, type DemoAccount } from '../operations/demo-account.ts';
import { createOperatorService } from '../operations/operator-service.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { Serving } from './lifetime.ts';

/** The ports that a server listens on. */
interface Ports {
  readonly listen: number;
  readonly admin: number;
}

/** What the announcement of a server needs. */
export interface AnnounceParts extends Serving {
  readonly database: Database;
  readonly clock: Clock;
  /** Where the log is written, unless to stderr. */
  readonly note: string | null;
  readonly ports: Ports;
}

/**
 * Prints where the server listens, and on the first start the links and keys of the demo account.
 */
export async function announce(parts: AnnounceParts): Promise<void> {
  const { config, database, clock, lock, proc, json, note, notice, ports } = parts;
  const url = urlOf(config.listen.host, ports.listen);
  lock.describe(`naru up, listening on ${url}`);
  const operator = createOperatorService(database, {
    clock,
    keyPrefix: config.keys.prefix,
    close: async () => {},
  });
  const demo = await createDemoAccount(operator, database);
  if (demo !== null)
    await proc.out(json ? row(welcomeRow(demo, config, ports)) : welcome(demo, config, ports));
  if (note !== null) notice('log', note);
  const listening = { event: 'listening', url, admin_port: ports.admin };
  await proc.out(json ? row(listening) : `listening on ${url}\n`);
}

function row(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The banner of the first start: the links and keys of the demo account and a working example. */
function welcome(demo: DemoAccount, config: Config, ports: Ports): string {
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
function welcomeRow(demo: DemoAccount, config: Config, ports: Ports): object {
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
