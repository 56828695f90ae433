import { readdirSync, readFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { join } from 'node:path';
import { until } from '../../harness/until.ts';
import { reply, startUpstream } from '../../harness/upstream.ts';
import { startLoad } from '../load.ts';
import { type NaruProcess, startNaru } from '../naru-process.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { databasePassword, providerKey, type Stage, startStage } from './stage.ts';

/**
 * What a client sent and no file may contain: none of it has a form that a mask would recognise.
 */
const planted = {
  prompt: 'prompt-canary-77ab',
  completion: 'completion-canary-1f0d',
  header: 'header-canary-c3d4',
  cookie: 'cookie-canary-e5f6',
  query: 'query-canary-a7b8',
  password: 'basic-canary-d2e1',
  bearer: 'bearer-canary-0c9d',
};
/** Stored by design (the title of an app): the scan must find it, or it has scanned nothing. */
const title = 'title-canary-4b6a';
const unknownKey = `sk-naru-v1-${'7e57'.repeat(16)}`;

/** One written item. */
interface Written {
  readonly where: string;
  readonly text: string;
}

/**
 * Secrets are planted as keys, passwords, prompts, responses and headers; after responses, errors
 * of every kind, a database outage and a crash, everything that Naru wrote is scanned for them.
 */
export async function canaries({ seed }: GoalRun): Promise<readonly Outcome[]> {
  const upstream = await startUpstream();
  let n = 0;
  upstream.respond(({ body }) => {
    n += 1;
    const responses = [
      reply.chat(`${planted.completion} and more`),
      reply.leak(401),
      reply.status(500, `<h1>${providerKey} failed</h1>`),
      reply.raw(`HTTP/1.1 ${providerKey}\r\n\r\n`),
      reply.stream([planted.completion, { data: `{"error":{"message":"${providerKey}"}}` }]),
      reply.stream([`${planted.completion} `, planted.completion]).cutAt(-7, 'rst'),
      reply.json({ error: { message: `bad key ${providerKey}` } }),
      reply.json(`not ${providerKey} JSON`),
    ];
    return responses[n % responses.length] ?? reply.chat(String(body['model']));
  });
  const stage = await startStage({
    database: 'cutter',
    beside: { 'test/canary': upstream.url, 'test/gone': 'http://127.0.0.1:9/v1' },
    config: { log: { level: 'debug' } },
  });
  try {
    const management = await stage.operator.createKey({
      accountId: stage.payers[0]?.accountId ?? 0,
      kind: 'management',
      name: 'canary',
      limit: null,
      limitReset: 'never',
      expiresAtMs: null,
    });
    const keys = [
      ...stage.payers.flatMap((payer) => payer.keys.map(({ key }) => key)),
      management.plaintext,
      unknownKey,
    ];
    const written = await provoke(stage, { seed, management: management.plaintext });
    return [judge(written, keys)];
  } finally {
    await stage.end();
    await upstream.close();
  }
}

async function provoke(
  stage: Stage,
  options: { readonly seed: number; readonly management: string },
): Promise<Written[]> {
  const { site, payers, cutter } = stage;
  const key = payers[0]?.keys[0]?.key ?? '';
  const written: Written[] = [];
  const requests = async (naru: NaruProcess, rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      for (const one of requestsOf(key, options.management))
        written.push({ where: `response to ${one.what}`, text: await exchange(naru, one) });
    }
    written.push({ where: 'metrics', text: await read(`http://127.0.0.1:${naru.adminPort}/metrics`) });
  };
  const load = startLoad(stage.naru.url, payers, { clients: 8, seed: options.seed, name: 'canary' });
  await requests(stage.naru, 12);
  cutter?.down();
  await requests(stage.naru, 1);
  written.push(...(await commands(stage)));
  cutter?.up();
  await until(
    'it serves again',
    async () => (await exchange(stage.naru, requestsOf(key, '')[0] as SentRequest)).startsWith('200'),
    20_000,
  );
  load.cease();
  await stage.naru.kill();
  await load.stop();
  // What the journal keeps of requests in flight, before the next start settles them.
  written.push(...files(site.dataDir));
  cutter?.down();
  const failed = await startNaru(site).catch(String);
  if (typeof failed === 'string') written.push({ where: 'the message of a start that failed', text: failed });
  else await failed.stop();
  cutter?.up();
  const again = await startNaru(site);
  await requests(again, 8);
  written.push(...(await commands(stage)));
  await again.stop();
  written.push(...files(site.dataDir), { where: 'stderr', text: site.log.join('') });
  for (const { name } of await stage.database.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace",
  )) {
    const rows = await stage.database.query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t`);
    written.push({ where: `table ${name}`, text: rows.map(({ row }) => row).join('\n') });
  }
  return written;
}

interface SentRequest {
  readonly what: string;
  readonly path: string;
  readonly authorization: string;
  readonly body?: unknown;
  readonly method?: string;
}

function requestsOf(key: string, management: string): readonly SentRequest[] {
  const messages = [{ role: 'user', content: `${planted.prompt} please` }];
  const path = `/chat/completions?token=${planted.query}`;
  const mine = `Bearer ${key}`;
  return [
    { what: 'a chat', path, authorization: mine, body: { model: 'test/canary', messages } },
    { what: 'a stream', path, authorization: mine, body: { model: 'test/canary', messages, stream: true } },
    { what: 'a provider that is away', path, authorization: mine, body: { model: 'test/gone', messages } },
    {
      what: 'a bad request',
      path,
      authorization: mine,
      body: { model: 'test/canary', messages: planted.prompt },
    },
    { what: 'no JSON', path, authorization: mine, body: `{"${planted.prompt}` },
    { what: 'an unknown key', path, authorization: `Bearer ${unknownKey}`, body: { messages } },
    { what: 'no key of ours', path, authorization: `Bearer ${planted.bearer}`, body: { messages } },
    { what: 'basic authorization', path, authorization: `Basic ${planted.password}`, body: { messages } },
    { what: 'keys', path: '/keys', authorization: `Bearer ${management}` },
    { what: 'a key', path: '/key', authorization: mine },
    { what: 'credits', path: '/credits', authorization: mine },
  ];
}

function exchange({ url }: NaruProcess, { path, authorization, body, method }: SentRequest): Promise<string> {
  return new Promise((resolve) => {
    const headers = {
      authorization,
      'content-type': 'application/json',
      cookie: `session=${planted.cookie}`,
      'x-api-key': planted.header,
      'x-custom': planted.header,
      'openai-organization': planted.header,
      'x-title': title,
    };
    const how = method ?? (body === undefined ? 'GET' : 'POST');
    const request = send(
      `${url}${path}`,
      { method: how, agent: false, headers, timeout: 8_000 },
      (response) => {
        let text = `${response.statusCode} ${JSON.stringify(response.headers)}`;
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.on('close', () => resolve(text)).on('error', () => {});
      },
    );
    request.on('error', (error) => resolve(String(error))).on('timeout', () => request.destroy());
    request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

async function commands({ site }: Stage): Promise<readonly Written[]> {
  const all = [
    ['doctor'],
    ['account', 'list'],
    ['ledger', 'export'],
    ['generation', 'export'],
    ['config', 'check'],
    ['key', 'list', '--account', '1'],
  ];
  return Promise.all(
    all.map(async (words) => {
      const text = await site.naru(...words).then(({ lines }) => JSON.stringify(lines), String);
      return { where: `naru ${words.join(' ')}`, text };
    }),
  );
}

function files(folder: string): readonly Written[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({
      where: `file ${entry.name}`,
      text: readFileSync(join(entry.parentPath, entry.name), 'latin1'),
    }));
}

async function read(url: string): Promise<string> {
  return (await fetch(url)).text();
}

function judge(written: readonly Written[], keys: readonly string[]): Outcome {
  // The last half of a key is as secret as all of it; a label shows less.
  const secrets = [
    ...keys.map((key) => key.slice(-32)),
    providerKey,
    databasePassword,
    ...Object.values(planted),
  ];
  const faults = written.flatMap(({ where, text }) =>
    secrets
      .filter((secret) => text.includes(secret) && !belongs(where, secret))
      .map((secret) => `${secret} in ${where}: ${proc(text, secret)}`),
  );
  const bytes = written.reduce((sum, { text }) => sum + text.length, 0);
  const tables = written.filter(
    ({ where, text }) => where.startsWith('table') && text.includes(title),
  ).length;
  const journals = written.filter(
    ({ where, text }) => where.startsWith('file') && text.includes(title),
  ).length;
  if (tables === 0 || journals === 0)
    faults.push(`the scan does not find the stored title: ${tables} tables, ${journals} files`);
  const found = `${secrets.length} secrets in ${written.length} places, ${Math.round(bytes / 1024)} KiB; the app's title, which is stored, in ${tables} tables and ${journals} files`;
  const wanted = 'found nowhere in logs, journal, metrics, errors, command output, a dump of all tables';
  return outcome('canary secrets', wanted, found, faults);
}

/** A response is the one place where a completion belongs. */
function belongs(where: string, secret: string): boolean {
  return secret === planted.completion && where.startsWith('response to');
}

function proc(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return text.slice(Math.max(0, at - 100), at + secret.length + 40).replaceAll('\n', ' ');
}
