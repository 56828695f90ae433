/**
 * Real engines as slots, and LiteLLM's proxy as an upstream in three dialects: what scripted ones
 * cannot show. Run by `npm run test:engines`, which installs them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '../../src/config/secret.ts';
import { engineSlot, openSlots } from '../harness/fake-engine.ts';
import { freePort } from '../harness/free-port.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { eventsOf, textOf } from '../harness/stream.ts';
import { until } from '../harness/until.ts';
import { engineVenv, type RealEngine, realEngines } from './installed.ts';

const key = 'engine-key-of-the-test';
const messages = [{ role: 'user', content: 'What is Naru?' }];
/** Greedy, so that two runs generate the same tokens. */
const greedy = { messages, max_tokens: 24, temperature: 0 };
const schema = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
  additionalProperties: false,
};

/** A gateway whose only slot runs the engine. */
interface World {
  readonly engine: RealEngine;
  readonly naru: TestGateway;
  readonly account: TestAccount;
  send(body: object, signal?: AbortSignal): Promise<TestResponse>;
}

async function open(engine: RealEngine, slot: object = {}, limits: object = {}): Promise<World> {
  const naru = await startTestGateway({
    models: [{ id: 'test/real', upstreams: [], model: { candidates: [{ slot: 'real' }] } }],
    config: {
      slots: [
        {
          name: 'real',
          cwd: tmpdir(),
          command: engine.command('{port}', key),
          api_key: key,
          ...engine.slot,
          ...slot,
        },
      ] as never,
      limits: { cold_wait_ms: 120_000, ...limits },
    },
    expectsInternalErrors: true,
  });
  const account = await naru.account({ credit: '1000000' });
  const send: World['send'] = (body, signal) =>
    naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/real', ...body },
      ...(signal === undefined ? {} : { signal }),
    });
  return { engine, naru, account, send };
}

/** The same request to the engine itself. */
async function direct(
  { engine, naru }: World,
  body: object,
): Promise<Record<string, Record<string, number>>> {
  const { port } = naru.gateway.slots.status('real');
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: engine.model, ...body }),
  });
  return (await response.json()) as Record<string, Record<string, number>>;
}

/** Sends a streamed request and resolves once its first bytes have arrived. */
async function begin({ engine, naru, account }: World, signal?: AbortSignal): Promise<() => Promise<string>> {
  const response = await fetch(`${naru.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/real', messages, stream: true, ...engine.long }),
    ...(signal === undefined ? {} : { signal }),
  });
  assert.equal(response.status, 200);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader?.read())?.value ?? '';
  return async () => {
    for (;;) {
      const piece = await reader?.read();
      if (piece?.value === undefined) return text;
      text += piece.value;
    }
  };
}

type Check = (world: World) => Promise<void>;

/** What every engine does on one gateway, in this order. */
const checks: Readonly<Record<string, Check>> = {
  'it starts on demand, and the bill is what the engine itself counts, whole and streamed': async (world) => {
    assert.equal(world.naru.gateway.slots.status('real').state, 'COLD');
    const whole = await world.send(greedy);
    assert.equal(whole.status, 200, whole.text);
    const own = (await direct(world, greedy))['usage'];
    const usages = [whole.json.usage];
    const events = eventsOf((await world.send({ ...greedy, stream: true })).text);
    assert.ok(textOf(events).length > 0);
    usages.push(
      events.flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data).usage])).findLast(Boolean),
    );
    for (const usage of usages) {
      assert.equal(usage.prompt_tokens, own?.['prompt_tokens']);
      assert.equal(usage.completion_tokens, own?.['completion_tokens']);
    }
  },
  'requests beyond its lanes queue without an error': async (world) => {
    const all = await Promise.all(Array.from({ length: 9 }, () => world.send(greedy)));
    assert.deepEqual(
      all.map(({ status }) => status),
      all.map(() => 200),
    );
  },
  'a stop sequence ends the text before it, whole and streamed': async (world) => {
    const plain = (await world.send(greedy)).json.choices[0].message.content as string;
    const stop = plain.split(' ')[2] ?? '';
    const stopped = (await world.send({ ...greedy, stop: [stop] })).json.choices[0];
    assert.equal(stopped.message.content, plain.slice(0, plain.indexOf(stop)));
    assert.equal(stopped.finish_reason, 'stop');
    const streamed = await world.send({ ...greedy, stop: [stop], stream: true });
    assert.equal(textOf(eventsOf(streamed.text)), stopped.message.content);
  },
  'a client that leaves frees the lane, and the engine stops generating': async (world) => {
    const leave = new AbortController();
    const rest = await begin(world, leave.signal);
    leave.abort();
    await assert.rejects(rest);
    await until('the lane is free', () => world.naru.gateway.slots.status('real').inFlight === 0);
  },
  'a kill in the middle of a stream is an error to the client, free, and the engine restarts': async (
    world,
  ) => {
    const { slots } = world.naru.gateway;
    const rest = await begin(world);
    const { pid } = slots.status('real');
    process.kill(pid ?? 0, 'SIGKILL');
    const text = await rest();
    assert.ok(text.includes('"error"'), text.slice(-500));
    await until('the crash is seen', () => slots.status('real').pid !== pid);
    assert.equal((await world.send(greedy)).status, 200);
    const { records } = await ledgerOf(world.naru, world.account);
    const broken = records.filter(({ error_type: type }) => type === 'provider_error');
    assert.deepEqual(
      broken.map((record) => Number(record.cost_krw)),
      [0],
    );
  },
  'it stops when idle, and the next request starts it again': async (world) => {
    const { slots } = world.naru.gateway;
    const { starts } = slots.status('real');
    await until('it is cold', () => slots.status('real').state === 'COLD', 60_000);
    assert.equal((await world.send(greedy)).status, 200);
    assert.equal(slots.status('real').starts, starts + 1);
  },
};

/** What one engine does, after the checks. */
const ownChecks: ReadonlyMap<RealEngine, Readonly<Record<string, Check>>> = new Map([
  [
    realEngines.llamaServer,
    {
      'a JSON schema binds the answer': async (world) => {
        const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
        const { json } = await world.send({ ...greedy, max_tokens: 200, response_format: format });
        assert.equal(typeof JSON.parse(json.choices[0].message.content).ok, 'boolean');
      },
      // The engine reports the tokens of the first choice only: Naru counts the text of all itself.
      'several choices are billed with the text of all': async (world) => {
        const perChoice: number[] = [];
        for (const n of [2, 3, 4]) {
          const { json } = await world.send({ ...greedy, n });
          assert.equal(json.choices.length, n);
          perChoice.push(json.usage.completion_tokens / n);
        }
        const [each = 0] = perChoice;
        assert.ok(each >= 1, String(each));
        assert.deepEqual(perChoice, [each, each, each]);
      },
    },
  ],
  [
    realEngines.transformersServe,
    {
      'what it rejects or ignores is not sent, and noted': async (world) => {
        const asked = { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, n: 2, presence_penalty: 0.5, seed: 1 };
        const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
        const response = await world.send({ ...greedy, ...asked, tools, tool_choice: 'required' });
        assert.equal(response.status, 200, response.text);
        const path = `/generation?id=${response.headers.get('x-generation-id')}`;
        const { data } = (await world.naru.send('GET', path, { key: world.account.key })).json;
        const changed = data.provider_responses[0].parameter_changes.map(
          ({ parameter }: { readonly parameter: string }) => parameter,
        );
        assert.deepEqual(changed.toSorted(), [...Object.keys(asked).slice(0, 5), 'tool_choice'].toSorted());
      },
      'its error about another model reaches the client, and costs nothing': async ({ engine }) => {
        const other = await open(engine, { model: undefined });
        try {
          const response = await other.send(greedy);
          assert.equal(response.status, 502, response.text);
          assert.match(response.json.error.message, /Server is pinned to/);
          assert.deepEqual((await ledgerOf(other.naru, other.account)).debits, []);
        } finally {
          await other.naru.close();
        }
      },
    },
  ],
]);

for (const engine of Object.values(realEngines))
  suite(engine.name, () => {
    let world: World;
    before(async () => {
      world = await open(engine, { max_concurrency: 2, idle_stop_ms: 3000 });
    });
    after(() => world?.naru.close());
    for (const [name, check] of Object.entries({ ...checks, ...ownChecks.get(engine) }))
      test(name, () => check(world));

    test('without a wait it is 503, and after its Retry-After 200', async () => {
      const hasty = await open(engine, {}, { cold_wait_ms: 0 });
      try {
        const loading = await hasty.send(greedy);
        assert.equal(loading.status, 503, loading.text);
        await until(
          'it serves after a Retry-After',
          async () => {
            const response = await hasty.send(greedy);
            await pause(1000 * Number(response.headers.get('retry-after') ?? 0));
            return response.status === 200;
          },
          120_000,
        );
      } finally {
        await hasty.naru.close();
      }
    });

    test('a wrong flag is the reason of the slot, and after five failures 502', async () => {
      const wrong = await open(engine, { command: engine.command('{port}', key, ['--no-such-flag']) });
      const { slots } = wrong.naru.gateway;
      try {
        for (let count = 1; count <= 5; count += 1) {
          slots.start('real');
          await until(
            `start ${count} fails`,
            () => slots.status('real').starts === count && /BACKOFF|FAILED/.test(slots.status('real').state),
            60_000,
          );
        }
        assert.match(slots.status('real').reason, /no-such-flag/);
        const response = await wrong.send(greedy);
        assert.deepEqual([response.status, response.json.error.metadata.error_type], [502, 'provider_error']);
      } finally {
        await wrong.naru.close();
      }
    });

    test('a port that was taken while it loaded is the reason, and the next start has another', async (t) => {
      const foreign = createServer((_, response) => response.writeHead(503).end());
      await once(foreign.listen(0, '127.0.0.1'), 'listening');
      t.after(() => foreign.close());
      const ports = [(foreign.address() as AddressInfo).port];
      const command = engine.command('{port}', key);
      const driver = { kind: 'process', command, env: { PATH: '/usr/bin:/bin' }, cwd: tmpdir() } as const;
      const slots = await openSlots(
        t,
        engineSlot({}, { driver, apiKey: new Secret(key), startBudgetMs: 120_000 }),
        {
          pickPort: async () => ports.pop() ?? freePort(),
        },
      );
      const { signal } = new AbortController();
      const wanted = { accountId: 1, signal, coldWaitMs: 120_000 };
      assert.equal((await slots.acquire('local-a', wanted)).kind, 'loading');
      assert.match(slots.status('local-a').reason, /its port \d+ is taken/);
      await until(
        'it starts again',
        async () => (await slots.acquire('local-a', wanted)).kind === 'lease',
        30_000,
      );
      assert.equal(slots.status('local-a').starts, 2);
    });
  });

/** LiteLLM's paths per dialect. It offers Bedrock's only for models on Bedrock. */
const dialects = { openai: '/v1', anthropic: '/v1', google: '/v1beta' } as const;

test('LiteLLM as an upstream: its counts are the bill in three dialects, whole and streamed', async (t) => {
  const engine = realEngines.llamaServer;
  const folder = mkdtempSync(join(tmpdir(), 'naru-litellm-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [enginePort, litePort] = [await freePort(), await freePort()];
  const file = join(folder, 'config.yaml');
  const api = { api_base: `http://127.0.0.1:${enginePort}/v1`, api_key: key };
  const model_list = [{ model_name: 'demo', litellm_params: { model: 'openai/demo', ...api } }];
  const settings = { drop_params: true, telemetry: false };
  writeFileSync(
    file,
    JSON.stringify({ model_list, general_settings: { master_key: 'sk-lite' }, litellm_settings: settings }),
  );
  const lite = [join(engineVenv('litellm-proxy'), 'bin/litellm'), '--config', file, '--host', '127.0.0.1'];
  await serve(t, engine.command(String(enginePort), key), `http://127.0.0.1:${enginePort}/health`);
  await serve(t, [...lite, '--port', String(litePort)], `http://127.0.0.1:${litePort}/health/liveliness`);
  const names = Object.keys(dialects) as (keyof typeof dialects)[];
  const naru = await startTestGateway({
    models: names.map((name) => ({
      id: `test/${name}`,
      upstreams: [],
      model: { candidates: [{ provider: name, model: 'demo' }] },
    })),
    config: {
      providers: names.map((name) => ({
        ...{ slug: name, dialect: name, api_key: 'sk-lite' },
        base_url: `http://127.0.0.1:${litePort}${dialects[name]}`,
      })) as never,
    },
  });
  t.after(() => naru.close());
  const account = await naru.account({ credit: '1000000' });
  const counted: object[] = [];
  for (const name of names)
    for (const stream of [false, true]) {
      const body = { ...greedy, model: `test/${name}`, stream };
      const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
      assert.equal(response.status, 200, `${name} ${response.text}`);
      const answers = stream
        ? eventsOf(response.text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]))
        : [response.json];
      const { prompt_tokens, completion_tokens } = answers.map(({ usage }) => usage).findLast(Boolean);
      counted.push({ name, stream, prompt_tokens, completion_tokens });
    }
  const own = counted[0] ?? {};
  assert.deepEqual(
    counted,
    counted.map((each) => ({ ...own, ...pick(each) })),
  );
});

/** What may differ between the rows. */
function pick(row: object): object {
  const { name, stream } = row as { readonly name: string; readonly stream: boolean };
  return { name, stream };
}

/** Runs a server until the test is over; resolves when `url` returns 200. */
async function serve(t: TestContext, [program = '', ...args]: readonly string[], url: string): Promise<void> {
  const path = [join(engineVenv('litellm-proxy'), 'bin'), '/usr/bin', '/bin'].join(':');
  const env = { PATH: path, HOME: tmpdir(), LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const child = spawn(program, args, { env, stdio: 'ignore' });
  t.after(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  await until(`${url} responds`, async () => (await fetch(url).catch(() => null))?.ok === true, 60_000);
}
