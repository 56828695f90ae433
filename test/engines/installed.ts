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
}

const model = fileURLToPath(new URL('../../demo-engine/model/naru-demo.gguf', import.meta.url));

/** The engines, each with what its slot states. */
export const realEngines: readonly RealEngine[] = [
  {
    name: 'llama-server',
    command: (port, key, flags = []) => [
      join(engineVenv('llama-server'), 'bin/python'),
      join(import.meta.dirname, 'llama-server.py'),
      ...['-m', model, '--port', port, '--api-key', key, ...flags],
    ],
    slot: { variant: 'llama-server', ready_path: '/health' },
  },
];
