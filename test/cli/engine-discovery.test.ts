import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { builtInConfig } from '../../src/app/default-config.ts';
import { buildCatalogue, statedPrices } from '../../src/catalogue/catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { findEngines, readFoundEngines } from '../../src/slots/engine-discovery.ts';
import { eventually } from '../harness/until.ts';
import { createInstallation, type Installation, naru, root } from './naru.ts';

/* An engine that already runs on this machine is offered at the first start: the ports are the test's own. */

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
let engine: Server;
let installation: Installation;
let port: number;
/** The capabilities that the engine reports for its models; nothing about the others. */
const abilities: Readonly<Record<string, readonly string[]>> = {
  'llama3.2:3b': ['completion', 'tools'],
  'qwen-vl': ['completion', 'vision', 'tools', 'thinking'],
  embedder: ['embedding'],
};
/** The models that were requested from the engine. */
const requested: string[] = [];

before(async () => {
  installation = createInstallation({ hasCluster: true });
  engine = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/v1/models') {
      const ids = ['llama3.2:3b', 'Llama3.2-3B', '/models/Qwen3 8B.gguf', 'qwen-vl', 'embedder', ''];
      response.end(JSON.stringify({ data: [...ids.map((id) => ({ id, max_model_len: 16_384 })), null] }));
      return;
    }
    if (request.url === '/api/show') {
      const { model } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      const capabilities = abilities[model];
      if (capabilities === undefined) response.statusCode = 404;
      response.end(JSON.stringify({ capabilities }));
      return;
    }
    const { model } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    requested.push(model);
    const choice = { index: 0, message: { role: 'assistant', content: '네' }, finish_reason: 'stop' };
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', model, choices: [choice], usage }));
  }).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  port = (engine.address() as AddressInfo).port;
});
after(() => {
  engine?.closeAllConnections();
  engine?.close();
  installation?.remove();
});

test('detected engines are stored, and detection runs once', async () => {
  const installations = [
    { title: 'Ollama', name: 'ollama', port },
    { title: 'Absent', name: 'absent', port: 1 },
  ];
  const found = await findEngines(installation.dataDir, installations);
  const ids = found.flatMap(({ models }) => models.map(({ id, engineName }) => [id, engineName]));
  assert.deepEqual(ids, [
    ['ollama/llama3.2-3b', 'llama3.2:3b'],
    ['ollama/qwen3-8b', '/models/Qwen3 8B.gguf'],
    ['ollama/qwen-vl', 'qwen-vl'],
  ]);
  assert.deepEqual(readFoundEngines(installation.dataDir), found);
  assert.deepEqual(await findEngines(installation.dataDir, installations), []);
});

test('an engine is named by what it states, not by its port, and a model by the file of its path', async (t) => {
  const listing: { rows: object[] } = { rows: [] };
  const other = createServer(
    (_request, response) => void response.end(JSON.stringify({ data: listing.rows })),
  );
  await once(other.listen(0, '127.0.0.1'), 'listening');
  t.after(() => other.close());
  const { port: at } = other.address() as AddressInfo;
  for (const [id, owner, expected, status] of [
    ['Qwen/Qwen3-8B', 'vllm', 'vllm/qwen-qwen3-8b'],
    ['models/Qwen3 8B.gguf', 'llamacpp', `llama-server-${at}/qwen3-8b`],
    ['./tiny', 'sglang', `sglang-${at}/tiny`],
    ['/models/tiny', 'models', `transformers-${at}/tiny`, { value: 'loaded' }],
    ['tiny', 'someone', `local-${at}/tiny`],
  ] as const) {
    listing.rows = [{ id, owned_by: owner, status }];
    const folder = join(installation.folder, `found-${owner}`);
    const [found] = await findEngines(folder, [{ title: 'vLLM', name: 'vllm', port: at }]);
    assert.equal(found?.models[0]?.id, expected);
    const text = builtInConfig(folder, { nodePath: process.execPath, root } as Parameters<
      typeof builtInConfig
    >[1]);
    assert.equal(
      /variant: (\S+)/.exec(text)?.[1],
      /^(vllm|llama-server|sglang|transformers)/.exec(expected)?.[0],
    );
  }
});

test('the built-in configuration includes detected engines and is valid', () => {
  const text = builtInConfig(installation.dataDir, { nodePath: process.execPath, root } as Parameters<
    typeof builtInConfig
  >[1]);
  const loaded = loadConfig({ text, path: `${root}/naru.yaml`, env: {}, readFile: () => '' });
  assert.ok(loaded.ok);
  assert.deepEqual(
    loaded.config.models.map(({ id }) => id),
    ['naru/demo', 'ollama/llama3.2-3b', 'ollama/qwen3-8b', 'ollama/qwen-vl'],
  );
  const [, llama, qwen, sees] = buildCatalogue(loaded.config, statedPrices(loaded.config, 1)).models;
  assert.equal(llama?.contextLength, 16_384);
  // The parameters it accepts, and the engine's description of the model.
  const common = ['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'seed', 'stop', 'tools'];
  for (const model of [llama, qwen, sees])
    for (const name of common) assert.ok(model?.supportedParameters.includes(name), `${model?.id}: ${name}`);
  assert.ok(!llama?.supportedParameters.includes('reasoning'), 'it does not think');
  assert.ok(!llama?.supportedParameters.includes('logit_bias'), 'Ollama has none');
  assert.ok(qwen?.supportedParameters.includes('reasoning'), 'nothing is known of it');
  assert.ok(sees?.supportedParameters.includes('reasoning'));
  assert.deepEqual([llama?.inputModalities, sees?.inputModalities], [['text'], ['text', 'image']]);
});

test('a detected model responds, and its engine gets its own model name', async () => {
  const serving = await installation.up();
  try {
    const key = /inference key +(\S+)/.exec(serving.out())?.[1];
    const response = await eventually('a response', 20_000, async () => {
      const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'ollama/llama3.2-3b',
          messages: [{ role: 'user', content: '안녕' }],
        }),
      });
      return response.status === 503 ? null : response;
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.equal(JSON.parse(text).choices[0].message.content, '네');
    assert.deepEqual([...new Set(requested)], ['llama3.2:3b']);
  } finally {
    assert.equal(await serving.stop(), 0);
  }
});

test('an unreadable file of detected engines is ignored', async () => {
  const { code } = await naru('config', 'check', '--data-dir', installation.folder);
  assert.equal(code, 0);
  assert.deepEqual(readFoundEngines('/nowhere'), []);
});
