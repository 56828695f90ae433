import type { Config } from '../config/config.ts';
import { assertListenable, freePort } from '../http/listen-address.ts';
import { urlOf } from '../http/urls.ts';
import { type Notice, noticesOf } from '../log/server-log.ts';
import { type FoundEngine, findEngines } from '../slots/engine-discovery.ts';
import { systemClock } from '../time/clock.ts';
import {
  readConfig,
  readConfigToPublish,
  rememberConfig,
  type Settings,
  settingsOf,
  type UpOptions,
} from './config-source.ts';
import { holdAfterCommands } from './database.ts';
import type { ProcessContext } from './process-context.ts';
import { describeServed, FollowedConfiguration } from './running-configuration.ts';
import { serveUntilStopped } from './serve.ts';

/**
 * `naru up`: serves until a stop signal; resolves with the exit code. Throws an `OperatorError` for
 * what the operator can correct.
 */
export async function up(options: UpOptions, proc: ProcessContext): Promise<number> {
  const settings = settingsOf(options, proc);
  const { dataDir } = settings;
  const notice = noticesOf(proc);
  // Read first: a faulty file must change nothing.
  const first = readConfig(settings, proc);
  const lock = await holdAfterCommands(dataDir, { pid: proc.pid, describe: 'naru up' });
  try {
    const wanted = withAddress(await settledConfig(first, settings, { proc, notice }), options);
    if (proc.socket === null) await assertListenable(wanted);
    else
      notice('socket', `serving on the socket that was passed, ${urlOf(proc.socket.host, proc.socket.port)}`);
    rememberConfig(settings);
    const served = { ...options, workers: options.workers ?? workersFor(wanted, proc.cores) };
    const address = proc.socket ?? (await addressOf(wanted, served));
    const config = withAddress(wanted, address);
    const readAgain = (): Config => withAddress(readConfigToPublish(settings, proc), address);
    const review = (): Config => withAddress(readConfig(settings, proc), address);
    const configuration = new FollowedConfiguration({
      file: settings.configFile,
      describe: () => describeServed(options, settings, proc, served.workers),
      clock: systemClock,
    });
    return await serveUntilStopped({
      configuration,
      config,
      readAgain,
      review,
      dataDir,
      lock,
      workers: served.workers,
      json: options.json,
      proc,
      notice,
    });
  } finally {
    lock.release();
  }
}

/**
 * The configuration to serve. Without a file, the engines of this machine are searched and added.
 */
async function settledConfig(
  first: Config,
  settings: Settings,
  { proc, notice }: { readonly proc: ProcessContext; readonly notice: Notice },
): Promise<Config> {
  if (settings.configFile !== null) return readConfigToPublish(settings, proc);
  const found = await findEngines(settings.dataDir);
  for (const engine of found) notice('engine_found', foundMessage(engine));
  return found.length > 0 ? readConfig(settings, proc) : first;
}

/**
 * The workers of a server that states none: one for each core but one, at most eight, where the
 * database has other cores.
 */
export function workersFor({ database }: Pick<Config, 'database'>, cores: number): number {
  return database.url === 'embedded' || cores < 4 ? 1 : Math.min(cores - 1, 8);
}

type AddressOptions = Pick<UpOptions, 'host' | 'port'>;

/**
 * The address that every worker listens on, also a replaced one: port 0 is resolved once for all of
 * them.
 */
async function addressOf({ listen }: Config, options: UpOptions): Promise<AddressOptions> {
  if (options.workers === 1 || listen.port !== 0) return options;
  return { host: options.host, port: await freePort(listen.host) };
}

function withAddress(config: Config, options: AddressOptions): Config {
  const listen = { host: options.host ?? config.listen.host, port: options.port ?? config.listen.port };
  return { ...config, listen };
}

function foundMessage({ title, baseUrl, models }: FoundEngine): string {
  const ids = models.slice(0, 5).map((model) => model.id);
  const more = models.length > ids.length ? ` and ${models.length - ids.length} more` : '';
  return `found ${title} at ${baseUrl}; its models are served as ${ids.join(', ')}${more}`;
}
