import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { faultText } from '../config/fault.ts';
import { type ConfigSource, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { AppliedMetadata } from '../config/model-metadata/apply-metadata.ts';
import { maxMetadataBytes } from '../config/model-metadata/metadata.ts';
import { readText } from '../config/read-text.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { showsSomething } from '../ids/name.ts';
import { makeFolder } from '../store/make-folder.ts';
import type { CliPaths } from './cli-options.ts';
import { rightsFaults } from './config-permissions.ts';
import { builtInConfig } from './default-config.ts';
import { defaultMetadata, storeMetadata } from './model-metadata-file.ts';
import type { ProcessContext } from './process-context.ts';

/** What was found in a configuration. */
export interface CheckedConfig {
  readonly file: string;
  /** Every fault as text; empty when there is none. */
  readonly faults: readonly string[];
  /** What is unsafe about it although it can be used, such as who may write it. */
  readonly warnings: readonly string[];
  /** What it takes from the public facts; null when it has faults or takes none. */
  readonly metadata: AppliedMetadata | null;
}

/** Where things are, after the command line and the defaults. */
export interface Settings {
  readonly dataDir: string;
  /** The configuration file; null when the built-in defaults serve. */
  readonly configFile: string | null;
}

/** Remembers the file with which this data directory was served last, so that other commands need not be told again. */
const rememberedName = 'config-file';

/** More than a configuration, a secret or public facts may have: each has a limit of its own below it. */
const maxConfigBytes = 2 * maxMetadataBytes;

/** Where the data and the configuration are: the command line, else what was served last, else `naru.yaml` and `.naru`. */
export function settingsOf(places: CliPaths, proc: Pick<ProcessContext, 'env' | 'cwd' | 'root'>): Settings {
  const dataDir = resolve(
    proc.cwd,
    places.dataDir ?? variable('NARU_DATA_DIR', proc) ?? join(proc.root, '.naru'),
  );
  const stated = places.config ?? variable('NARU_CONFIG', proc);
  if (stated !== null) {
    const file = resolve(proc.cwd, stated);
    if (!existsSync(file)) throw new OperatorError(`there is no configuration file ${file}`);
    return { dataDir, configFile: file };
  }
  const remembered = join(dataDir, rememberedName);
  if (existsSync(remembered)) {
    const file = textOfConfig(remembered).trim();
    if (existsSync(file)) return { dataDir, configFile: file };
  }
  const usual = join(proc.root, 'naru.yaml');
  return { dataDir, configFile: existsSync(usual) ? usual : null };
}

/** A variable of the environment. An empty one says nothing: the folder it would name is the one in which the command happens to run. */
function variable(name: string, { env }: Pick<ProcessContext, 'env'>): string | null {
  const value = env[name] ?? '';
  return showsSomething(value) ? value : null;
}

/** Notes the configuration file of this data directory for later commands. */
export function rememberConfig({ dataDir, configFile }: Settings): void {
  makeFolder(dataDir, 0o700);
  const file = join(dataDir, rememberedName);
  if (configFile === null) rmSync(file, { force: true });
  else writeFileSync(file, `${configFile}\n`, { mode: 0o600 });
}

/** Every fault of the configuration as the operator reads it; empty when there is none. */
export function faultsOf(settings: Settings, proc: ProcessContext): CheckedConfig {
  const { file, loaded } = load(settings, proc);
  const warnings = settings.configFile === null ? [] : rightsFaults(settings.configFile, proc.uid);
  if (loaded.ok) return { file, faults: [], warnings, metadata: loaded.metadata };
  return { file, faults: loaded.faults.map((fault) => faultText(file, fault)), warnings, metadata: null };
}

/** The configuration; throws a `OperatorError` that lists every fault. */
export function readConfig(settings: Settings, proc: ProcessContext): Config {
  return readWhole(settings, proc).config;
}

/**
 * The configuration as it is about to be published. If it takes public facts that came with Naru, they are copied into the data
 * directory first: a newer Naru changes no price, only `naru models refresh` does. Throws as `readConfig`.
 */
export function readConfigToPublish(settings: Settings, proc: ProcessContext): Config {
  const { config, metadata } = readWhole(settings, proc);
  if (metadata !== null && metadata.models.length > 0) storeMetadata(settings.dataDir, metadata);
  return config;
}

function readWhole(settings: Settings, proc: ProcessContext): LoadedConfig & { readonly ok: true } {
  const { file, loaded } = load(settings, proc);
  if (loaded.ok) return loaded;
  const lines = loaded.faults.map((fault) => faultText(file, fault));
  throw new OperatorError(
    `the configuration has ${lines.length === 1 ? 'a fault' : `${lines.length} faults`}:\n${lines.join('\n')}`,
  );
}

function load(settings: Settings, proc: ProcessContext): { file: string; loaded: LoadedConfig } {
  const loaded = loadConfig(sourceOf(settings, proc));
  return { file: settings.configFile ?? 'the built-in configuration', loaded };
}

/** The text of the configuration, and all that it may take from outside of itself. Throws a `OperatorError` when it cannot be read. */
export function sourceOf({ configFile, dataDir }: Settings, proc: ProcessContext): ConfigSource {
  return {
    text: configFile === null ? builtInConfig(dataDir, proc) : textOfConfig(configFile),
    path: configFile ?? join(proc.root, 'naru.yaml'),
    env: proc.env,
    readFile: (file) => readText(file, maxConfigBytes),
    metadata: defaultMetadata(dataDir),
  };
}

function textOfConfig(file: string): string {
  try {
    return readText(file, maxConfigBytes);
  } catch (error) {
    throw new OperatorError(
      `the configuration file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
