import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import nodeEnv from '../scripts/node-env.json' with { type: 'json' };
import nodeFlags from '../scripts/node-flags.json' with { type: 'json' };
import { buildProgram, programOf } from '../scripts/program.mjs';
import { freePort } from '../test/harness/free-port.ts';
import { LOAD_CORE, pinned, startChild, TARGET_CORE } from './child.ts';
import { type Ground, requestBody, type Target, workloads } from './target.ts';

const root = join(import.meta.dirname, '..');

/** Settlement may trail the responses by this much before a missing entry counts as lost. */
const SETTLE_LIMIT_MS = 15_000;
const owner = 'owner@example.com';
/** The largest that the first page of the dashboard reads. */
const pageReads = [
  'usage/totals?range=7d',
  'usage/groups?range=7d&by=model&limit=5&ranking=cost',
  'generations?limit=50',
];

/** Naru, and what only it has. */
export interface NaruTarget extends Target {
  readonly pid: number;
  readonly port: number;
  readonly adminPort: number;
  readonly key: string;
  /** Creates a management key of the account of `key`. */
  createManagementKey(): Promise<string>;
}

/** How Naru is started; what is not stated is as an operator has it. */
export interface NaruOptions {
  readonly inspectPort?: number | null;
  readonly workers?: number;
  readonly databaseUrl?: string;
  /** Whether it may use all cores, and not only that of what is measured. */
  readonly usesAllCores?: boolean;
}

/**
 * Naru as an operator runs it: bundled, embedded PostgreSQL, journal, one process, every response
 * billed (spec:operator/1.4,2.4). With a port for the inspector it runs from its sources, whose
 * files a profile names.
 */
export async function naruTarget(
  { upstreamPort, directory }: Ground,
  { inspectPort = null, workers = 1, databaseUrl = 'embedded', usesAllCores = false }: NaruOptions = {},
): Promise<NaruTarget> {
  const inspect = inspectPort === null ? [] : [`--inspect=127.0.0.1:${inspectPort}`];
  const main = inspectPort === null ? await bundled() : join(root, 'src/main.ts');
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = join(directory, 'naru.yaml');
  const location = ['--config', config, '--data-dir', join(directory, 'naru')];
  writeFileSync(config, JSON.stringify(naruConfig({ port, adminPort, upstreamPort, databaseUrl }), null, 2));
  const child = await startChild({
    name: 'naru',
    command: [
      process.execPath,
      ...nodeFlags,
      ...inspect,
      main,
      'up',
      ...location,
      '--workers',
      String(workers),
    ],
    core: usesAllCores ? null : TARGET_CORE,
    env: nodeEnv,
    ready: /listening on http:\/\//,
    limitMs: 60_000,
  });
  try {
    const account = await made(location, 'account_id', ['account', 'create', '--name', 'bench']);
    await naru(location, ['credit', 'grant', '--account', account, '--amount', '1000000000']);
    const createKey = (...more: readonly string[]): Promise<string> =>
      made(location, 'key', ['key', 'create', '--account', account, '--name', 'bench', ...more]);
    const key = await createKey();
    return {
      name: 'naru',
      pid: child.pid,
      port,
      adminPort,
      key,
      createManagementKey: () => createKey('--kind', 'management'),
      dashboard: async () => {
        const url = await made(location, 'url', [
          'account',
          'invite',
          '--account',
          account,
          '--email',
          owner,
        ]);
        const headers = { cookie: await signIn(port, url.slice(url.indexOf('#') + 1)) };
        return pageReads.map((path) => ({ port, path: `/dashboard/api/${path}`, headers, body: '' }));
      },
      jobOf: (workload, bodyBytes) => ({
        port,
        path: '/api/v1/chat/completions',
        headers: { authorization: `Bearer ${key}` },
        body: requestBody(`bench/${workload}`, workload !== 'whole', bodyBytes),
      }),
      verify: (responses) => verifyLedger(location, account, responses),
      stop: child.stop,
    };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** Accepts an invitation. Resolves to the cookie. */
async function signIn(port: number, token: string): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  const response = await fetch(`${origin}/dashboard/api/sign-in/link/redeem`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token, password: 'correct horse battery' }),
  });
  if (response.status !== 200) throw new Error(`no sign-in: ${await response.text()}`);
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}

/** The bundle, built if necessary. */
async function bundled(): Promise<string> {
  const trouble = await buildProgram(root, process.execPath);
  const main = programOf(root);
  if (main === null) throw new Error(`the program could not be bundled: ${trouble ?? ''}`);
  return main;
}

/** JSON is YAML. One provider for each workload, since the upstream distinguishes them by path. */
function naruConfig({
  port,
  adminPort,
  upstreamPort,
  databaseUrl,
}: {
  readonly port: number;
  readonly adminPort: number;
  readonly upstreamPort: number;
  readonly databaseUrl: string;
}): object {
  return {
    listen: { host: '127.0.0.1', port },
    admin: { host: '127.0.0.1', port: adminPort },
    database: { url: databaseUrl },
    edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    providers: workloads.map((workload) => ({
      slug: `bench-${workload}`,
      name: `Bench ${workload}`,
      dialect: 'openai',
      base_url: `http://127.0.0.1:${upstreamPort}/${workload}/v1`,
      api_key: 'sk-bench',
    })),
    models: workloads.map((workload) => ({
      id: `bench/${workload}`,
      name: `Bench: ${workload}`,
      description: 'A fixed response.',
      context_length: 1_000_000,
      max_completion_tokens: 32_768,
      input_modalities: ['text'],
      supported_parameters: ['temperature'],
      price: { prompt: 0.4, completion: 1.2, currency: 'KRW', per: '1M' },
      candidates: [{ provider: `bench-${workload}`, model: 'bench-model' }],
    })),
  };
}

/** Every successful request is in the ledger exactly once, and the ledger agrees with itself. */
async function verifyLedger(
  location: Location,
  account: string,
  responses: number,
): Promise<readonly string[]> {
  let entries = await countUsage(location, account);
  for (
    const until = performance.now() + SETTLE_LIMIT_MS;
    entries < responses && performance.now() < until;
  ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    entries = await countUsage(location, account);
  }
  const equal = entries === responses ? 'ok' : 'not ok';
  const verified = await naru(location, ['ledger', 'verify']).then(
    () => 'ok: naru ledger verify',
    (error: unknown) => `not ok: ${String(error)}`,
  );
  return [`${equal}: ${entries} usage entries in the ledger for ${responses} successful requests`, verified];
}

async function countUsage(location: Location, account: string): Promise<number> {
  let count = 0;
  await naru(location, ['ledger', 'export', '--account', account], (line) => {
    if ((JSON.parse(line) as { kind?: string }).kind === 'usage') count += 1;
  });
  return count;
}

type Location = readonly string[];

/** Runs a command that prints one object, and returns one member of it. */
async function made(location: Location, member: string, args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  await naru(location, args, (line) => lines.push(line));
  const value = (JSON.parse(lines.join('\n')) as Readonly<Record<string, unknown>>)[member];
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new Error(`naru ${args.join(' ')} gave no ${member}: ${lines.join(' ')}`);
  return String(value);
}

/**
 * Runs the operator's command on the generator's core. Rejects with its output unless it exits 0.
 */
async function naru(
  location: Location,
  args: readonly string[],
  onLine = (_line: string): void => {},
): Promise<void> {
  const [file = '', ...rest] = pinned(
    [process.execPath, programOf(root) ?? join(root, 'src/main.ts'), ...args, '--json', ...location],
    LOAD_CORE,
  );
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stderr.on('data', (bytes) => {
    output = (output + String(bytes)).slice(-2000);
  });
  const exited = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) onLine(line);
  const [code] = await exited;
  if (code !== 0) throw new Error(`naru ${args.join(' ')} exited ${String(code)}: ${output}`);
}
