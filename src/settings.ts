import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { builtInConfig } from './built-in-config.ts';
import { CliError, type Places } from './cli/shell.ts';
import type { Config } from './config/config.ts';
import { faultText } from './config/fault.ts';
import { loadConfig } from './config/load.ts';
import type { Surroundings } from './surroundings.ts';

/** Where things are, after the command line and the defaults. */
export interface Settings {
  readonly dataDir: string;
  /** The configuration file; null when the built-in defaults serve. */
  readonly configFile: string | null;
}

/** Remembers the file with which this data directory was served last, so that other commands need not be told again. */
const rememberedName = 'config-file';

/** Where the data and the configuration are: the command line, else what was served last, else `naru.yaml` and `.naru`. */
export function settingsOf(places: Places, around: Surroundings): Settings {
  const dataDir = resolve(
    around.cwd,
    places.dataDir ?? around.env['NARU_DATA_DIR'] ?? join(around.root, '.naru'),
  );
  const stated = places.config ?? around.env['NARU_CONFIG'] ?? null;
  if (stated !== null) {
    const file = resolve(around.cwd, stated);
    if (!existsSync(file)) throw new CliError(`there is no configuration file ${file}`);
    return { dataDir, configFile: file };
  }
  const remembered = join(dataDir, rememberedName);
  if (existsSync(remembered)) {
    const file = readFileSync(remembered, 'utf8').trim();
    if (existsSync(file)) return { dataDir, configFile: file };
  }
  const usual = join(around.root, 'naru.yaml');
  return { dataDir, configFile: existsSync(usual) ? usual : null };
}

/** Notes the configuration file of this data directory for later commands. */
export function rememberConfig({ dataDir, configFile }: Settings): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, rememberedName);
  if (configFile === null) rmSync(file, { force: true });
  else writeFileSync(file, `${configFile}\n`, { mode: 0o600 });
}

/** Every fault of the configuration as the operator reads it; empty when there is none. */
export function faultsOf(
  settings: Settings,
  around: Surroundings,
): { readonly file: string; readonly faults: readonly string[] } {
  const { file, loaded } = load(settings, around);
  return { file, faults: loaded.ok ? [] : loaded.faults.map((fault) => faultText(file, fault)) };
}

/** The configuration; throws a `CliError` that lists every fault. */
export function readConfig(settings: Settings, around: Surroundings): Config {
  const { file, loaded } = load(settings, around);
  if (loaded.ok) return loaded.config;
  const lines = loaded.faults.map((fault) => faultText(file, fault));
  throw new CliError(
    `the configuration has ${lines.length === 1 ? 'a fault' : `${lines.length} faults`}:\n${lines.join('\n')}`,
  );
}

function load(
  settings: Settings,
  around: Surroundings,
): { file: string; loaded: ReturnType<typeof loadConfig> } {
  const { configFile } = settings;
  const text = configFile === null ? builtInConfig(settings.dataDir, around) : readText(configFile);
  const path = configFile ?? join(around.root, 'naru.yaml');
  const loaded = loadConfig({ text, path, env: around.env, readFile: (file) => readFileSync(file, 'utf8') });
  return { file: configFile ?? 'the built-in configuration', loaded };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(
      `the configuration file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
