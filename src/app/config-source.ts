import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defaultMetadata, storeMetadata } from '../catalogue/model-metadata-file.ts';
import type { Config } from '../config/config.ts';
import type { ValueOrigin } from '../config/describe-config.ts';
import { faultText } from '../config/fault.ts';
import { type ConfigSource, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { AppliedMetadata } from '../config/model-metadata/apply-metadata.ts';
import { maxMetadataBytes } from '../config/model-metadata/metadata.ts';
import { rightsFaults } from '../config/permissions.ts';
import { readText } from '../config/read-text.ts';
import { counted } from '../errors/counted.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { programFaults } from '../slots/programs.ts';
import { makeFolder } from '../store/make-folder.ts';
import { showsSomething } from '../wire/ids/name.ts';
import { builtInConfig } from './default-config.ts';
import type { ProcessContext } from './process-context.ts';

/** The paths that a command line names; null for the default. */
export interface CliPaths {
  /** The configuration file. */
  readonly config: string | null;
  readonly dataDir: string | null;
}

/** The options of `naru up` beside the configuration. */
export interface UpOptions extends CliPaths {
  readonly host: string | null;
  readonly port: number | null;
  /** The number of processes that share the port; null for one that fits the machine. */
  readonly workers: number | null;
  readonly json: boolean;
}

/** The outcome of checking a configuration. */
export interface CheckedConfig {
  readonly file: string;
  /** Every fault as text. */
  readonly faults: readonly string[];
  /** What is unsafe but usable, such as its permissions. */
  readonly warnings: readonly string[];
  /** Slots whose program cannot be run on this machine. */
  readonly programs: readonly string[];
  /** The model metadata that it uses; null when it has faults or uses none. */
  readonly metadata: AppliedMetadata | null;
}

/** The paths after the command line and the defaults. */
export interface Settings {
  readonly dataDir: string;
  /** The configuration file; null for the built-in defaults. */
  readonly configFile: string | null;
}

/**
 * Stores the configuration file that this data directory was served with last, for later commands.
 */
const rememberedName = 'config-file';

/**
 * More than any file may have: configuration, secrets and model metadata have lower limits of their
 * own.
 */
const maxConfigBytes = 2 * maxMetadataBytes;

/**
 * The paths of data and configuration: from the command line, else from the last server, else
 * `naru.yaml` and `.naru`.
 */
export function settingsOf(paths: CliPaths, proc: Pick<ProcessContext, 'env' | 'cwd' | 'home'>): Settings {
  const dataDir = resolve(
    proc.cwd,
    paths.dataDir ?? variable('NARU_DATA_DIR', proc) ?? join(proc.home, '.naru'),
  );
  const stated = paths.config ?? variable('NARU_CONFIG', proc);
  if (stated !== null) {
    const file = resolve(proc.cwd, stated);
    if (!existsSync(file)) throw new OperatorError(`no configuration file ${file}`);
    return { dataDir, configFile: file };
  }
  const storedName = join(dataDir, rememberedName);
  if (existsSync(storedName)) {
    const file = textOfConfig(storedName).trim();
    if (existsSync(file)) return { dataDir, configFile: file };
  }
  const defaultFile = join(proc.home, 'naru.yaml');
  return { dataDir, configFile: existsSync(defaultFile) ? defaultFile : null };
}

/** Where the paths of a server come from; the default is also what the last server had. */
export function originsOfPaths(
  paths: CliPaths,
  proc: Pick<ProcessContext, 'env'>,
): Readonly<Record<keyof CliPaths, ValueOrigin>> {
  const originOf = (stated: string | null, name: string): ValueOrigin =>
    stated !== null ? 'command_line' : variable(name, proc) === null ? 'default' : 'environment';
  return {
    config: originOf(paths.config, 'NARU_CONFIG'),
    dataDir: originOf(paths.dataDir, 'NARU_DATA_DIR'),
  };
}

/**
 * A variable of the environment. An empty one counts as unset: as a path it would name the current
 * folder.
 */
function variable(name: string, { env }: Pick<ProcessContext, 'env'>): string | null {
  const value = env[name] ?? '';
  return showsSomething(value) ? value : null;
}

/** Stores the configuration file of this data directory for later commands. */
export function rememberConfig({ dataDir, configFile }: Settings): void {
  makeFolder(dataDir, 0o700);
  const file = join(dataDir, rememberedName);
  if (configFile === null) rmSync(file, { force: true });
  else writeFileSync(file, `${configFile}\n`, { mode: 0o600 });
}

/** Every fault of the configuration as text for the operator. */
export function faultsOf(settings: Settings, proc: ProcessContext): CheckedConfig {
  const { file, loaded } = load(settings, proc);
  const warnings = settings.configFile === null ? [] : rightsFaults(settings.configFile, proc.uid);
  if (loaded.ok)
    return { file, faults: [], warnings, programs: programFaults(loaded.config), metadata: loaded.metadata };
  const faults = loaded.faults.map((fault) => faultText(file, fault));
  return { file, faults, warnings, programs: [], metadata: null };
}

/** The configuration; throws an `OperatorError` that lists every fault. */
export function readConfig(settings: Settings, proc: ProcessContext): Config {
  return readWhole(settings, proc).config;
}

/**
 * The configuration for a publication. If it uses the model metadata shipped with Naru, copies that
 * into the data directory first: only `naru models refresh` changes prices, not an upgrade of Naru.
 * Throws as `readConfig`.
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
  throw new OperatorError(`the configuration has ${counted(lines.length, 'fault')}:\n${lines.join('\n')}`);
}

function load(settings: Settings, proc: ProcessContext): { file: string; loaded: LoadedConfig } {
  const loaded = loadConfig(sourceOf(settings, proc));
  return { file: settings.configFile ?? 'built-in configuration', loaded };
}

/**
 * The text of the configuration and everything it may refer to. Throws an `OperatorError` when it
 * is unreadable.
 */
export function sourceOf({ configFile, dataDir }: Settings, proc: ProcessContext): ConfigSource {
  return {
    text: configFile === null ? builtInConfig(dataDir, proc) : textOfConfig(configFile),
    path: configFile ?? join(proc.home, 'naru.yaml'),
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
      `cannot read the configuration file ${file}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
