import {
  type DescribedConfig,
  type DescribedValue,
  describeConfig,
  describedValue,
} from '../config/describe-config.ts';
import type { UpOptions } from './cli-options.ts';
import { originsOfPaths, type Settings, sourceOf } from './config-source.ts';
import type { ProcessContext } from './process-context.ts';

/**
 * What a server uses, each value with its origin: the configuration file, and over it what the
 * command line and the environment state. Throws when the file cannot be read.
 */
export function describeServed(
  options: UpOptions,
  settings: Settings,
  proc: ProcessContext,
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
  return { ok: true, values: [...optionsBeside(options, settings, proc), ...values] };
}

/** The options that have no member in the file, by their names on the command line. */
function optionsBeside(
  options: UpOptions,
  { configFile, dataDir }: Settings,
  proc: ProcessContext,
): readonly DescribedValue[] {
  const origins = originsOfPaths(options, proc);
  return [
    ...(configFile === null ? [] : [describedValue('--config', configFile, origins.config)]),
    describedValue('--data-dir', dataDir, origins.dataDir),
    describedValue('--workers', String(options.workers), options.workers === 1 ? 'default' : 'command_line'),
  ];
}
