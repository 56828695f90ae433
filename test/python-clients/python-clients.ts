/**
 * Clients from PyPI use Naru as `docs/works-with.md` documents, then a script that uses a tool with
 * thinking and a stream on every family of models, and an error; aider completes a task. Run by `npm run test:python-clients`, which installs
 * them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type Outside, startOutside } from '../agents/outside.ts';
import { type ClientWorld, clientModel } from '../harness/client-world.ts';
import { type FamilyWorld, openFamilyWorld } from '../harness/family-world.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { piece, reply, usage } from '../harness/upstream.ts';
import { type UpstreamRequest, wantsStream } from '../harness/upstream-openai.ts';
import type { Reply } from '../harness/upstream-reply.ts';
import { costOf as costOfFamily, type Family } from '../providers/families.ts';
import { snippetWith } from '../works-with/client.ts';
import { clients } from '../works-with/clients.ts';
import { aider } from '../works-with/python.ts';
import { venvOf } from './venv.ts';

const content = '나루는 배를 타는 곳입니다.';
const scripts = join(import.meta.dirname, 'scripts');
/**
 * The time limit of a program: Python reads hundreds of megabytes of modules, slowly on a busy
 * host.
 */
const timeout = 120_000;
let opened: FamilyWorld;
let world: ClientWorld;
let outside: Outside;
let folder: string;

before(async () => {
  opened = await openFamilyWorld();
  opened.respond(scripted);
  world = opened.world;
  outside = await startOutside();
  folder = mkdtempSync(join(tmpdir(), 'naru-python-'));
});
after(async () => {
  await opened?.close();
  await outside?.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Every request has a different cost, so that two charges cannot be confused; small enough to be
 * plausible for a short text.
 */
function countedOf({ n }: UpstreamRequest): object {
  return usage(10 + n, 5 + n);
}

function costOf({ n }: UpstreamRequest): number {
  return 10 + n + 2 * (5 + n);
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command with the programs of a virtual environment, in its own home and folder. */
async function run(
  packageName: string,
  command: readonly string[],
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const env = {
    HOME: folder,
    PATH: [join(venvOf(packageName), 'bin'), '/usr/bin', '/bin'].join(':'),
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    PYTHONUTF8: '1',
    ...outside.env,
    ...more,
  };
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd: folder, env, timeout, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, out, err };
}

/**
 * Responds as the request wants: with the only tool that it offers and requires, else with text.
 */
function responseTo(request: UpstreamRequest, counted: object): Reply {
  const choice = request.body['tool_choice'];
  if (typeof choice !== 'object') return reply.chat(content, { usage: counted });
  return callOf(request, 'Answer', { text: content }, counted);
}

function callOf(request: UpstreamRequest, name: string, args: object, counted: object): Reply {
  const json = JSON.stringify(args);
  if (wantsStream(request))
    return reply.stream(piece.tool(0, name, json.slice(0, 5), json.slice(5)), { usage: counted });
  const call = { id: 'call_0', type: 'function', function: { name, arguments: json } };
  return reply.whole(null, { toolCalls: [call], usage: counted });
}

const libraries = clients.filter(({ registry, kind }) => registry === 'PyPI' && kind === 'library');

for (const client of libraries) {
  test(`${client.package}, set up as documented, gets a response, is billed, and is identified as ${client.app}`, async () => {
    const payer = await world.payer();
    world.upstream.respond((request) => responseTo(request, usage(10, 5)));
    const file = join(folder, 'program.py');
    writeFileSync(file, snippetWith(client, { url: world.url, key: payer.key, model: clientModel }));
    const { code, out, err } = await run(client.package, ['python', file]);
    assert.equal(code, 0, err);
    assert.equal(out, `${content}\n`, err);
    await payer.charged(20);
    const [record] = (await ledgerOf(world.naru, payer)).records;
    assert.equal(record.app_title, client.app, record.user_agent);
  });

  test(`${client.package} uses a tool with thinking and reads a stream on every family, gets an error, and the ledger has each cost once`, async () => {
    const payer = await world.payer();
    const { served } = opened;
    const before = served.map(({ upstream }) => upstream.requests.length);
    const { code, out, err } = await run(
      client.package,
      ['python', '-P', join(scripts, `${client.package}.py`)],
      { NARU_URL: world.url, NARU_KEY: payer.key, NARU_MODELS: served.map(({ model }) => model).join(' ') },
    );
    assert.deepEqual(
      served.map(({ rejected }) => rejected),
      served.map(() => []),
    );
    assert.equal(code, 0, `${out}\n${err}`);
    const printed = JSON.parse(out.trim().split('\n').at(-1) ?? '');
    const used = served.map(() => ({ tool: '21', stream: content }));
    assert.deepEqual(printed, { used, refused: 401 }, err);
    const sent = served.map(({ upstream }, at) => upstream.requests.slice(before[at]));
    for (const requests of sent) assert.ok(requests.length >= 2, 'a tool and a stream');
    await payer.charged(...sent.flat().map(costOfFamily));
  });
}

/**
 * With the tool of the weather, calls it and then reports its result; a tool for the answer itself
 * is called with it.
 */
function scripted(family: Family, request: UpstreamRequest): Reply {
  const text = request.raw.toString();
  const [, name] = /"name":"(\w*Answer)"/.exec(text) ?? [];
  if (name !== undefined) {
    const answer = text.includes('날씨') ? '21' : content;
    return family.generates({ call: { name, args: { text: answer } } }, request);
  }
  if (!text.includes('"name":"weather"')) return family.generates({ text: content }, request);
  const result = JSON.stringify(family.results(request.body));
  const degrees = /"(\d\d) °C"/.exec(result)?.[1];
  const call = { name: 'weather', args: { city: 'Seoul' } };
  return family.generates(degrees === undefined ? { call } : { text: degrees }, request);
}

test('aider completes a task on disk, and each of its requests is billed once', async () => {
  const payer = await world.payer();
  writeFileSync(join(folder, 'in.txt'), 'ferry\n');
  const before = world.upstream.requests.length;
  world.upstream.respond((request) => {
    const counted = countedOf(request);
    const seen = JSON.stringify(request.body['messages']).includes('ferry');
    return reply.chat(`Done.\n\nout.txt\n\`\`\`\nfound ${seen ? 'ferry' : 'nothing'}\n\`\`\`\n`, {
      usage: counted,
    });
  });
  const setting = { url: world.url, key: payer.key, model: clientModel };
  const lines = snippetWith(aider, setting).trimEnd().split('\n');
  const flags =
    '--yes-always --no-git --no-check-update --analytics-disable --no-show-model-warnings --no-pretty';
  const command = `${lines.join('\n')} ${flags} --message 'Read in.txt and write it into out.txt, behind the word found.' in.txt out.txt`;
  const { code, out, err } = await run(aider.package, ['sh', '-ec', command]);
  assert.equal(code, 0, `${out}\n${err}`);
  assert.equal(readFileSync(join(folder, 'out.txt'), 'utf8'), 'found ferry\n', `${out}\n${err}`);
  const sent = world.upstream.requests.slice(before);
  await payer.charged(...sent.map(costOf));
  const [record] = (await ledgerOf(world.naru, payer)).records;
  assert.equal(record.app_title, aider.app, record.user_agent);
});

test('no client contacted another host, except aider, which fetches prices', () => {
  assert.deepEqual([...new Set(outside.hosts)], ['raw.githubusercontent.com']);
});
