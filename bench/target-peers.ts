/**
 * Other gateways, installed into `.cache/bench` at the versions of `peers/`. Each is set up for one
 * provider, without its optional features, and none of them bills.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, installWheels } from '../scripts/install-once.ts';
import { freePort } from '../test/harness/free-port.ts';
import { startChild, TARGET_CORE } from './child.ts';
import { type Ground, requestBody, type Target, workloads } from './target.ts';
import { untilConnectable } from './until-connectable.ts';

const lists = join(import.meta.dirname, 'peers');
const cache = join(import.meta.dirname, '../.cache/bench');
/** LiteLLM imports for half a minute beside other work. */
const limitMs = 180_000;

/**
 * Portkey's open-source gateway: the provider is a header of each request, and nothing is recorded.
 */
export async function portkeyTarget({ upstreamPort }: Ground): Promise<Target> {
  const folder = join(cache, 'portkey');
  installPackages(join(lists, 'portkey'), folder);
  const port = await freePort();
  const main = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const child = await startChild({
    name: 'portkey',
    command: [process.execPath, main, `--port=${port}`, '--headless'],
    core: TARGET_CORE,
    ready: null,
    limitMs,
  });
  await untilConnectable(port, limitMs);
  return {
    name: 'portkey',
    pid: child.pid,
    jobOf: (workload, bodyBytes) => ({
      port,
      path: '/v1/chat/completions',
      headers: {
        authorization: 'Bearer sk-bench',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/${workload}/v1`,
      },
      body: requestBody('bench-model', workload !== 'whole', bodyBytes),
    }),
    verify: async () => [],
    stop: child.stop,
  };
}

/**
 * LiteLLM's proxy with its master key and a price for each token, so that it computes the cost of a
 * response. Without a database: the client that it needs for one comes from a host that is no
 * package registry.
 */
export async function litellmTarget({ upstreamPort, directory }: Ground): Promise<Target> {
  const folder = join(cache, 'litellm');
  installWheels(join(lists, 'litellm.txt'), folder);
  const port = await freePort();
  const config = join(directory, 'litellm.yaml');
  writeFileSync(config, JSON.stringify(litellmConfig(upstreamPort)));
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const child = await startChild({
    name: 'litellm',
    command: [
      join(folder, 'bin/litellm'),
      ...['--config', config, '--num_workers', '1', '--telemetry', 'False'],
      ...address,
    ],
    core: TARGET_CORE,
    // It downloads a price list otherwise, and ends a stream that repeats a chunk 100 times.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', REPEATED_STREAMING_CHUNK_LIMIT: '1000000000' },
    ready: null,
    limitMs,
  });
  await untilConnectable(port, limitMs);
  return {
    name: 'litellm',
    pid: child.pid,
    jobOf: (workload, bodyBytes) => ({
      port,
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-bench-master' },
      body: requestBody(`bench/${workload}`, workload !== 'whole', bodyBytes),
    }),
    verify: async () => [],
    stop: child.stop,
  };
}

/** JSON is YAML. */
function litellmConfig(upstreamPort: number): object {
  return {
    model_list: workloads.map((workload) => ({
      model_name: `bench/${workload}`,
      litellm_params: {
        model: 'openai/bench-model',
        api_base: `http://127.0.0.1:${upstreamPort}/${workload}/v1`,
        api_key: 'sk-bench',
        input_cost_per_token: 4e-7,
        output_cost_per_token: 1.2e-6,
      },
    })),
    general_settings: { master_key: 'sk-bench-master' },
  };
}
