import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Each engine and gateway has its exact versions in a file here. */
export const requirementsFolder = join(import.meta.dirname, 'requirements');

/** The virtual environment that `scripts/test-engines.ts` makes of such a file. */
export function engineVenv(name: string): string {
  return join(import.meta.dirname, '../../.cache/engines', name);
}

/** An engine that runs as a slot. */
export interface RealEngine {
  readonly name: string;
  /** With this port and API key; `flags` are appended. */
  command(port: string, key: string, flags?: readonly string[]): readonly string[];
  readonly slot: object;
  /** Its name for its model. */
  readonly model: string;
  /** What makes a request last for half a second or more. */
  readonly long: object;
}

const gguf = fileURLToPath(new URL('../../demo-engine/model/naru-demo.gguf', import.meta.url));
const transformers = engineVenv('transformers');
/** Made with the engine's own packages by `tiny-model.py`. */
const tiny = join(transformers, 'tiny-model');
/** Two thousand tokens, which take llama-server half a second: nothing shorter fits the schema. */
const endless = { type: 'array', items: { type: 'boolean' }, minItems: 900 };

const llamaServer: RealEngine = {
  name: 'llama-server',
  command: (port, key, flags = []) => [
    join(engineVenv('llama-server'), 'bin/python'),
    join(import.meta.dirname, 'llama-server.py'),
    ...['-m', gguf, '--port', port, '--api-key', key, ...flags],
  ],
  slot: { variant: 'llama-server', ready_path: '/health' },
  model: 'naru-demo',
  long: {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: endless } },
  },
};

/** It has no API key, ignores schemas, and returns one choice. */
const transformersServe: RealEngine = {
  name: 'transformers serve',
  command: (port, _key, flags = []) => [
    join(transformers, 'bin/transformers'),
    ...['serve', tiny, '--host', '127.0.0.1', '--port', port, '--device', 'cpu', ...flags],
  ],
  slot: { variant: 'transformers', model: tiny, env: { HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' } },
  model: tiny,
  long: { max_tokens: 2000 },
};

/** The engines, each with the name of its packages. */
export const realEngines = { llamaServer, transformersServe };
