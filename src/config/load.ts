import { checkFile } from './checks/file.ts';
import { buildConfig, type Config } from './config.ts';
import type { Fault } from './fault.ts';
import { type Outside, relativeToConfig } from './interpolate.ts';
import { type AppliedMetadata, applyMetadata } from './model-metadata/apply-metadata.ts';
import type { ModelMetadataSource } from './model-metadata/metadata.ts';
import { proxyFaults } from './proxies.ts';
import { readYaml, type Tree } from './read-yaml.ts';
import { rootSchema } from './schema.ts';
import { addSchemaFaults } from './schema-faults.ts';
import { valueAt } from './tree.ts';

/** A file's text and its outside sources. */
export interface ConfigSource extends Outside {
  readonly text: string;
  /** The default source of public facts; absent: none. */
  readonly metadata?: ModelMetadataSource;
}

/** A valid configuration, or every fault of the file, from top to bottom. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config; readonly metadata: AppliedMetadata | null }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Loads a `naru.yaml` (spec:operator/2.1). YAML syntax errors are reported on their own; otherwise
 * all faults are reported at once. No message quotes a value from an environment variable or a
 * file, or a credential. Never throws.
 */
export function loadConfig(source: ConfigSource): LoadedConfig {
  const { tree: read, sourceMap } = readYaml(source.text, source);
  if (read !== null) {
    const { tree, metadata, applied } = applyMetadata(read, factsSourceOf(read, source), sourceMap);
    const parsed = rootSchema.safeParse(tree);
    if (!parsed.success) addSchemaFaults(parsed.error.issues, tree, sourceMap);
    checkFile(tree, sourceMap, { metadata, applied });
    for (const fault of proxyFaults(source.env)) sourceMap.add([], fault);
    if (parsed.success && sourceMap.faults().length === 0) {
      return { ok: true, config: buildConfig(parsed.data, source, applied), metadata: applied };
    }
  }
  return { ok: false, faults: sourceMap.faults() };
}

/**
 * The path of the facts file in a text (`facts.file`); null when there is none, or it is not YAML.
 */
export function factsFileOf(source: ConfigSource): string | null {
  return factsFileIn(readYaml(source.text, source).tree, source);
}

/** The source of the public facts that a file names, else the default one. */
export function factsSourceOf(tree: Tree, source: ConfigSource): ModelMetadataSource | null {
  const path = factsFileIn(tree, source);
  return path === null ? (source.metadata ?? null) : { read: () => source.readFile(path), origin: path };
}

function factsFileIn(tree: Tree, { path }: Outside): string | null {
  const named = valueAt(tree, ['facts', 'file']);
  return typeof named === 'string' ? relativeToConfig(named, path) : null;
}

/** The configuration without a file, equal to that of an empty file. */
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
