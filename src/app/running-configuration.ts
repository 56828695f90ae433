import {
  type DescribedConfig,
  type DescribedValue,
  describeConfig,
  describedValue,
} from '../config/describe-config.ts';
import type { RunningConfiguration } from '../pages/context.ts';
import type { Clock } from '../time/clock.ts';
import { originsOfPaths, type Settings, sourceOf, type UpOptions } from './config-source.ts';
import type { ProcessContext } from './process-context.ts';

/** The parts of the configuration that a server follows. */
export interface FollowedParts {
  readonly file: string | null;
  /** Describes the file as it is; throws when it cannot be read. */
  readonly describe: () => DescribedConfig;
  readonly clock: Clock;
}

/** The configuration that a server follows: what was in effect last, and its file. */
export class FollowedConfiguration implements RunningConfiguration {
  readonly file: string | null;
  readonly #describe: () => DescribedConfig;
  readonly #clock: Clock;
  #running: DescribedConfig;
  #lastReload: RunningConfiguration['lastReload'] = null;
  #request: () => Promise<void> = async () => {};

  constructor({ file, describe, clock }: FollowedParts) {
    this.file = file;
    this.#describe = describe;
    this.#clock = clock;
    this.#running = describe();
  }

  get running(): DescribedConfig {
    return this.#running;
  }

  get lastReload(): RunningConfiguration['lastReload'] {
    return this.#lastReload;
  }

  onDisk(): DescribedConfig {
    return this.#describe();
  }

  async reload(): Promise<string | null> {
    await this.#request();
    return this.#lastReload?.error ?? null;
  }

  /** From now on `request` reloads, and resolves when that has ended. */
  begin(request: () => Promise<void>): void {
    this.#request = request;
  }

  /** A reload has ended; `error` says why it changed nothing. */
  reloaded(error: string | null): void {
    this.#lastReload = { atMs: this.#clock.now(), error };
    if (error === null) this.#running = this.#describe();
  }
}

/**
 * What a server uses, each value with its origin: the configuration file, and over it what the
 * command line and the environment state. Throws when the file cannot be read.
 */
export function describeServed(
  options: UpOptions,
  settings: Settings,
  proc: ProcessContext,
  workers: number,
): DescribedConfig {
  const described = describeConfig(sourceOf(settings, proc));
  if (!described.ok) return described;
  const stated = new Map(
    [
      ...(options.host === null ? [] : [describedValue('listen.host', options.host, 'command_line')]),
      ...(options.port === null ? [] : [describedValue('listen.port', String(options.port), 'command_line')]),
    ].map((value) => [value.path, value]),
  );
  const values = described.values.map((value) => stated.get(value.path) ?? value);
  return { ok: true, values: [...optionsBeside(options, settings, { proc, workers }), ...values] };
}

/** The options that have no member in the file, by their names on the command line. */
function optionsBeside(
  options: UpOptions,
  { configFile, dataDir }: Settings,
  { proc, workers }: { readonly proc: ProcessContext; readonly workers: number },
): readonly DescribedValue[] {
  const origins = originsOfPaths(options, proc);
  return [
    ...(configFile === null ? [] : [describedValue('--config', configFile, origins.config)]),
    describedValue('--data-dir', dataDir, origins.dataDir),
    describedValue('--workers', String(workers), options.workers === null ? 'default' : 'command_line'),
  ];
}
