import assert from 'node:assert/strict';
import type { Config } from '../../src/config/config.ts';
import { faultText } from '../../src/config/fault.ts';
import { loadConfig } from '../../src/config/load.ts';

/** What a test lets a configuration take from outside. */
export interface Around {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** The configuration that a text means; fails the test, with every fault, when it has one. */
export function configOf(text: string, around: Around = {}): Config {
  const loaded = load(text, around);
  if (loaded.ok) return loaded.config;
  return assert.fail(loaded.faults.map((fault) => faultText('naru.yaml', fault)).join('\n'));
}

/** Every fault of a text, as an operator reads it. */
export function faultsOf(text: string, around: Around = {}): readonly string[] {
  const loaded = load(text, around);
  return loaded.ok ? [] : loaded.faults.map((fault) => faultText('naru.yaml', fault));
}

function load(text: string, around: Around) {
  const { env = {}, files = {}, path = '/etc/naru/naru.yaml' } = around;
  return loadConfig({
    text,
    path,
    env,
    readFile: (file) => {
      const content = files[file];
      if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return content;
    },
  });
}
