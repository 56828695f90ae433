import { buildConfig } from './build.ts';
import type { Config } from './config.ts';
import type { Fault } from './fault.ts';
import { freezeDeep } from './freeze.ts';
import type { Outside } from './interpolate.ts';
import { readYaml } from './read-yaml.ts';
import { addReferenceFaults } from './references.ts';
import { rootSchema } from './schema.ts';
import { addSchemaFaults } from './schema-faults.ts';

/** A file's text and all that it may take from outside of itself. */
export interface ConfigSource extends Outside {
  readonly text: string;
}

/** A configuration without a fault, or every fault of the file, from its top to its end. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Reads a `naru.yaml` (decisions.md §5). A text that is not YAML is told of alone; otherwise all faults come at once.
 * No message quotes what came from an environment variable or a file, or a credential. Never throws.
 */
export function loadConfig(source: ConfigSource): LoadedConfig {
  const { tree, places } = readYaml(source.text, source);
  if (tree !== null) {
    const parsed = rootSchema.safeParse(tree);
    if (!parsed.success) addSchemaFaults(parsed.error.issues, tree, places);
    addReferenceFaults(tree, places);
    if (parsed.success && places.faults().length === 0) {
      return { ok: true, config: freezeDeep(buildConfig(parsed.data, source)) };
    }
  }
  return { ok: false, faults: places.faults() };
}

/** What serves without a file: the configuration that an empty one means. */
export function defaultConfig(): Config {
  const loaded = loadConfig({
    text: '',
    path: 'naru.yaml',
    env: {},
    readFile: () => {
      throw new Error('the defaults take nothing from files');
    },
  });
  if (!loaded.ok) throw new Error('the built-in defaults have a fault');
  return loaded.config;
}
