import assert from 'node:assert/strict';
import type { Config } from '../../src/config/config.ts';
import { faultText } from '../../src/config/fault.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { AppliedMetadata } from '../../src/config/model-metadata/apply-metadata.ts';

/** What a test lets a configuration read from outside. */
export interface Around {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly path?: string;
  /** The text of the usual metadata; absent: there is none. */
  readonly facts?: string;
}

/** The configuration that a text means; fails the test, with every fault, when it has one. */
export function configOf(text: string, proc: Around = {}): Config {
  const loaded = load(text, proc);
  if (loaded.ok) return loaded.config;
  return assert.fail(loaded.faults.map((fault) => faultText('naru.yaml', fault)).join('\n'));
}

/** Every fault of a text, as an operator reads it. */
export function faultsOf(text: string, proc: Around = {}): readonly string[] {
  const loaded = load(text, proc);
  return loaded.ok ? [] : loaded.faults.map((fault) => faultText('naru.yaml', fault));
}

/** What a text without faults uses of the metadata; null when it uses none. */
export function takenOf(text: string, proc: Around = {}): AppliedMetadata | null {
  const loaded = load(text, proc);
  return loaded.ok ? loaded.metadata : null;
}

function load(text: string, proc: Around) {
  const { env = {}, files = {}, path = '/etc/naru/naru.yaml', facts } = proc;
  return loadConfig({
    text,
    path,
    env,
    ...(facts === undefined ? {} : { metadata: { read: () => facts, origin: 'a test' } }),
    readFile: (file) => {
      const content = files[file];
      if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return content;
    },
  });
}
