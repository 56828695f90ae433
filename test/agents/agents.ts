/**
 * Agents from npm finish a task on disk through Naru: they read one file and write another by tools
 * that they offer to the model. Run by `npm run test:agents`, which installs them.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type ClientWorld, clientModel, type Payer } from '../harness/client-world.ts';
import { type FamilyWorld, openFamilyWorld } from '../harness/family-world.ts';
import { ledgerOf, numberOf } from '../harness/read-ledger.ts';
import { eventsOf } from '../harness/stream.ts';
import { reply, type Upstream, usage } from '../harness/upstream.ts';
import { type UpstreamRequest, wantsStream } from '../harness/upstream-openai.ts';
import type { Reply } from '../harness/upstream-reply.ts';
import { costOf as costOfFamily, type Family } from '../providers/families.ts';
import type { Client } from '../works-with/client.ts';
import { openWorksite } from './agent.ts';
import { type Agent, agents, type ToolCall } from './definitions.ts';
import { type Exchange, startTap } from './tap.ts';

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
  readonly reasoning_content?: unknown;
}

const task = 'Read in.txt and write its text into out.txt, behind the word found.';
const done = '다 했습니다: out.txt is written.';
let opened: FamilyWorld;
let world: ClientWorld;

before(async () => {
  opened = await openFamilyWorld();
  world = opened.world;
});
after(async () => {
  await opened?.close();
});

/**
 * A model's reasoning before each of its tool calls: in pieces that split words, with whitespace at
 * both ends.
 */
const thoughts: readonly (readonly string[])[] = [
  ['\n먼저 in', '.txt를 ', '읽는다.\n'],
  ['이제 "out.', 'txt"를 <쓴다> ', '👩\u200d👧 '],
  [' 확인', '한다.\t', '\\'],
];

/**
 * A model that does the task: it reads, writes what the agent reports to have read, and reports
 * that it is done.
 */
function modelOf(agent: Agent, folder: string, thinks: boolean): (request: UpstreamRequest) => Reply {
  return (request) => {
    const messages = (request.body['messages'] ?? []) as readonly Message[];
    // Every request has a different cost, so that two charges cannot be confused.
    const options = { usage: usage(100 + request.n, 10 + request.n) };
    // An agent may also send its own requests, for a title of the conversation or for its memory.
    if (!offersTools(request) || !JSON.stringify(messages).includes(task))
      return reply.chat('Nothing.', options);
    if (thinks && !hasAllReasoning(messages)) return reply.status(400, thoughtsMissing);
    const results = messages.filter(({ role }) => role === 'tool');
    const calls = [
      ...callsOf(agent, folder, results),
      ...(thinks ? [agent.read(join(folder, 'out.txt'))] : []),
    ];
    const call = calls[results.length];
    return call === undefined
      ? reply.chat(done, options)
      : callOf(request, call, thinks ? (thoughts[results.length] ?? []) : [], results.length, options);
  };
}

/** The calls that do the task, given the results so far. */
function callsOf(agent: Agent, folder: string, results: readonly unknown[]): readonly ToolCall[] {
  const [secret = 'nothing'] = JSON.stringify(results).match(/ferry-[0-9a-f]{16}/) ?? [];
  return [agent.read(join(folder, 'in.txt')), agent.write(join(folder, 'out.txt'), `found ${secret}\n`)];
}

/** A tool call after its reasoning, streamed if the agent requests a stream. */
function callOf(
  request: UpstreamRequest,
  { name, args }: ToolCall,
  thought: readonly string[],
  n: number,
  options: object,
): Reply {
  const json = JSON.stringify(args);
  const id = `call_${n}`;
  const whole = { id, type: 'function', function: { name, arguments: json } };
  if (!wantsStream(request)) return reply.whole(null, { ...options, toolCalls: [whole] });
  const first = { index: 0, ...whole, function: { name, arguments: json.slice(0, 9) } };
  const rest = { index: 0, function: { arguments: json.slice(9) } };
  const deltas = [
    ...thought.map((text) => ({ reasoning_content: text })),
    { tool_calls: [first] },
    { tool_calls: [rest] },
  ];
  return reply.stream(
    deltas.map((delta) => ({ delta })),
    { ...options, finish: 'tool_calls' },
  );
}

function offersTools(request: UpstreamRequest): boolean {
  return ((request.body['tools'] ?? []) as readonly unknown[]).length > 0;
}

/**
 * DeepSeek and Moonshot require that each of the model's messages with tool calls returns with its
 * reasoning, to the byte.
 */
function hasAllReasoning(messages: readonly Message[]): boolean {
  return messages
    .filter(({ tool_calls: calls = [] }) => calls.length > 0)
    .every(({ reasoning_content: text }, index) => text === thoughts[index]?.join(''));
}

const thoughtsMissing = {
  error: {
    message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    type: 'invalid_request_error',
  },
};

/** The cost that a response reported to the agent, in won. */
function costOf({ response }: Exchange): number {
  const counted = response.startsWith('{')
    ? JSON.parse(response).usage
    : eventsOf(response).findLast(({ json }) => json?.usage)?.json.usage;
  return counted.cost;
}

/** One agent at work for one account. */
interface Work {
  readonly payer: Payer;
  readonly exchanges: readonly Exchange[];
  /** The upstream request. */
  readonly sent: readonly UpstreamRequest[];
}

/** What an agent is set up with. */
interface Place {
  readonly client: Client;
  readonly model: string;
  readonly upstream: Upstream;
  /** Scripts the model, which knows the agent's folder. */
  readonly script: (folder: string) => void;
}

/** Behind the upstream of one script. */
function scripted(agent: Agent, thinks: boolean): Place {
  const { upstream } = world;
  const script = (folder: string): void => upstream.respond(modelOf(agent, folder, thinks));
  return { client: agent.client, model: clientModel, upstream, script };
}

/** Lets an agent do the task and fails unless it did, alone and without an error. */
async function work(t: TestContext, agent: Agent, place: Place): Promise<Work> {
  const { client, model, upstream, script } = place;
  const payer = await world.payer();
  const tap = await startTap(world.naru.origin);
  t.after(() => tap.close());
  const site = await openWorksite(client, { url: tap.url, key: payer.key, model });
  t.after(() => site.remove());
  const secret = `ferry-${randomBytes(8).toString('hex')}`;
  writeFileSync(join(site.folder, 'in.txt'), `${secret}\n`);
  const before = upstream.requests.length;
  script(site.folder);

  const ended = await site.run(agent.command(task, model));

  const refused = tap.exchanges.filter(({ status }) => status !== 200);
  assert.deepEqual(
    refused.map(({ path, status, response }) => `${path} ${status} ${response}`),
    [],
  );
  const output = `${ended.out}\n${ended.err}`;
  assert.equal(ended.code, 0, output);
  assert.ok(ended.out.includes(done), output);
  assert.equal(readFileSync(join(site.folder, 'out.txt'), 'utf8').trimEnd(), `found ${secret}`, output);
  assert.deepEqual(
    ended.outside.filter((host) => !agent.contactedHosts.includes(host)),
    [],
    'no request went to another machine',
  );
  const exchanges = tap.exchanges.filter(({ path }) => path.endsWith('/chat/completions'));
  const sent = upstream.requests.slice(before);
  assert.equal(exchanges.length, sent.length, 'each request went upstream once');
  return { payer, exchanges, sent };
}

/** The most tool results that a request had. */
function maxResults(sent: readonly UpstreamRequest[]): number {
  const counts = sent.map(
    ({ body }) => (body['messages'] as readonly Message[]).filter(({ role }) => role === 'tool').length,
  );
  return Math.max(...counts);
}

for (const agent of agents) {
  const { client } = agent;
  test(`${client.name} completes a task on disk, each of its requests is billed once, and Naru identifies the app`, async (t) => {
    const { payer, exchanges: received, sent } = await work(t, agent, scripted(agent, false));
    assert.equal(maxResults(sent), 2, 'tool results in the last request');

    const costs = sent.map(({ n }) => 100 + n + 2 * (10 + n));
    await payer.charged(...costs);
    const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
    assert.deepEqual(sorted(received.map(costOf)), sorted(costs), 'the agent received the cost of each');

    const { records, usage: charged } = await ledgerOf(world.naru, payer);
    assert.equal(records.length, received.length);
    assert.equal(
      numberOf(charged),
      costs.reduce((sum, cost) => sum + cost, 0),
    );
    const { 'user-agent': userAgent, 'http-referer': referer } = received[0]?.headers ?? {};
    t.diagnostic(
      `${client.name}: ${received.length} requests; User-Agent ${userAgent}; HTTP-Referer ${referer}`,
    );
    assert.deepEqual(
      [...new Set(records.map((record) => record.app_title))],
      [client.app],
      `User-Agent ${userAgent}`,
    );
  });
}

for (const agent of agents.filter(({ client }) => client.returnsReasoning)) {
  test(`${agent.client.name} completes with a reasoning model that rejects a conversation without its reasoning`, async (t) => {
    const { sent } = await work(t, agent, scripted(agent, true));
    assert.equal(maxResults(sent), 3, 'tool results in the last request');
  });
}

/** Models of opencode that think, for both of its providers. */
const thinking = JSON.stringify({
  reasoning: true,
  options: { reasoningEffort: 'medium', reasoning: { effort: 'medium' } },
});

for (const agent of agents.filter(({ client }) => client.package === 'opencode-ai')) {
  const client = {
    ...agent.client,
    snippet: agent.client.snippet.replace('"naru/demo": {}', `"naru/demo": ${thinking}`),
  };
  test(`${client.name} completes with every family of models that thinks, each request accepted and billed once`, async (t) => {
    for (const { family, model, upstream, rejected } of opened.served) {
      const script = (folder: string): void =>
        opened.respond((to, request) => familyDoes(to, request, agent, folder));
      const { payer, sent } = await work(t, agent, { client, model, upstream, script });
      assert.deepEqual(rejected, []);
      assert.equal(Math.max(...sent.map(({ body }) => family.results(body).length)), 2, family.api);
      await payer.charged(...sent.map(costOfFamily));
    }
  });
}

/** Does the task as a model of the family. */
function familyDoes(family: Family, request: UpstreamRequest, agent: Agent, folder: string): Reply {
  const text = request.raw.toString();
  if (!text.includes(`"name":"${agent.read('').name}"`) || !text.includes(task))
    return family.generates({ text: 'Nothing.' }, request);
  const results = family.results(request.body);
  const call = callsOf(agent, folder, results)[results.length];
  return family.generates(call === undefined ? { text: done } : { call }, request);
}
