/**
 * Agents from npm finish a task on disk through Naru: they read one file and write another by tools that they offer to the model.
 * Run by `npm run test:agents`, which installs them.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { booksOf, numberOf } from '../harness/books.ts';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { eventsOf } from '../harness/stream.ts';
import { piece, reply, usage } from '../harness/upstream.ts';
import type { Asked } from '../harness/upstream-openai.ts';
import type { Reply } from '../harness/upstream-reply.ts';
import type { Client } from '../works-with/client.ts';
import { continueAgent } from '../works-with/continue.ts';
import { qwenCode } from '../works-with/qwen-code.ts';
import { openWorksite } from './agent.ts';
import { type Heard, startTap } from './tap.ts';

/** An agent and what it calls things. */
interface Agent {
  readonly client: Client;
  /** Starts it without a terminal, free to use its tools. */
  readonly command: (task: string) => string;
  /** Machines that it asks for its newest version, which nothing turns off; they are not reached. */
  readonly asks: readonly string[];
  readonly read: (path: string) => ToolCall;
  readonly write: (path: string, content: string) => ToolCall;
}

interface ToolCall {
  readonly name: string;
  readonly args: object;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

const agents: readonly Agent[] = [
  {
    client: continueAgent,
    command: (task) => `cn --print --auto "${task}"`,
    asks: ['api.continue.dev'],
    read: (filepath) => ({ name: 'Read', args: { filepath } }),
    write: (filepath, content) => ({ name: 'Write', args: { filepath, content } }),
  },
  {
    client: qwenCode,
    command: (task) => `qwen --yolo --prompt "${task}"`,
    asks: [],
    read: (path) => ({ name: 'read_file', args: { file_path: path } }),
    write: (path, content) => ({ name: 'write_file', args: { file_path: path, content } }),
  },
];

const task = 'Read in.txt and write what it says into out.txt, behind the word found.';
const done = '다 했습니다: out.txt is written.';
let world: ClientWorld;

before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

/** A model that does the task: it reads, writes what the agent says it read, and tells that it is done. */
function modelOf(agent: Agent, folder: string): (asked: Asked) => Reply {
  return (asked) => {
    const messages = (asked.body['messages'] ?? []) as readonly Message[];
    const results = messages.filter((message) => message.role === 'tool');
    const last = messages.at(-1);
    // Every request costs something else, so that no two charges can be taken for one another.
    const options = { usage: usage(100 + asked.n, 10 + asked.n) };
    const call = ({ name, args }: ToolCall): Reply => {
      const json = JSON.stringify(args);
      const pieces = piece.tool(0, name, json.slice(0, 9), json.slice(9));
      return reply.stream(pieces, { ...options, finish: 'tool_calls' });
    };
    if (last?.role === 'user' && results.length === 0 && JSON.stringify(last.content).includes(task))
      return call(agent.read(join(folder, 'in.txt')));
    if (last?.role === 'tool' && results.length === 1) {
      const [said = 'nothing'] = JSON.stringify(last.content).match(/ferry-[0-9a-f]{16}/) ?? [];
      return call(agent.write(join(folder, 'out.txt'), `found ${said}\n`));
    }
    // An agent may also ask on its own account, for a title of the conversation or for what to remember.
    return reply.chat(last?.role === 'tool' ? done : 'Nothing.', options);
  };
}

/** What an answer told the agent that it cost, in won. */
function costOf({ answer }: Heard): number {
  return eventsOf(answer).findLast(({ json }) => json?.usage)?.json.usage.cost;
}

for (const agent of agents) {
  const { client } = agent;
  test(`${client.name} does a task on disk, each of its requests is billed once, and Naru knows it`, async (t) => {
    const payer = await world.payer();
    const tap = await startTap(world.naru.origin);
    t.after(() => tap.close());
    const site = openWorksite(client, { url: tap.url, key: payer.key, model: clientModel });
    t.after(() => site.remove());
    const secret = `ferry-${randomBytes(8).toString('hex')}`;
    writeFileSync(join(site.folder, 'in.txt'), `${secret}\n`);
    const before = world.upstream.requests.length;
    world.upstream.answer(modelOf(agent, site.folder));

    const ended = await site.run(agent.command(task));

    const told = `${ended.out}\n${ended.err}`;
    assert.equal(ended.code, 0, told);
    assert.ok(ended.out.includes(done), told);
    assert.equal(readFileSync(join(site.folder, 'out.txt'), 'utf8'), `found ${secret}\n`, told);
    assert.deepEqual(
      ended.outside.filter((host) => !agent.asks.includes(host)),
      [],
      'no other machine was asked',
    );

    const sent = world.upstream.requests.slice(before);
    const results = (sent.map((each) => each.body['messages']) as (readonly Message[])[]).map(
      (messages) => messages.filter((message) => message.role === 'tool').length,
    );
    assert.ok(results.includes(1) && results.includes(2), `tool results in the requests: ${results}`);

    const asked = tap.heard.filter(({ path }) => path.endsWith('/chat/completions'));
    assert.deepEqual(
      tap.heard.filter(({ status }) => status !== 200).map(({ path, status }) => `${path} ${status}`),
      [],
    );
    assert.equal(asked.length, sent.length, 'each request went upstream once');
    const costs = sent.map(({ n }) => 100 + n + 2 * (10 + n));
    await payer.charged(...costs);
    const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
    assert.deepEqual(sorted(asked.map(costOf)), sorted(costs), 'the agent was told the cost of each');

    const { records, usage: charged } = await booksOf(world.naru, payer);
    assert.equal(records.length, asked.length);
    assert.equal(
      numberOf(charged),
      costs.reduce((sum, cost) => sum + cost, 0),
    );
    const { 'user-agent': userAgent, 'http-referer': referer } = asked[0]?.headers ?? {};
    t.diagnostic(
      `${client.name}: ${asked.length} requests; User-Agent ${userAgent}; HTTP-Referer ${referer}`,
    );
    const apps = await world.naru.database.query<{ name: string; requests: bigint }>(
      'SELECT name, requests FROM app_usage_day u JOIN app a ON a.id = u.app_id AND a.account_id = u.account_id WHERE u.account_id = $1',
      [payer.accountId],
    );
    assert.deepEqual(
      apps.map(({ name, requests }) => [name, Number(requests)]),
      [[client.app, asked.length]],
      `User-Agent ${userAgent}`,
    );
  });
}
