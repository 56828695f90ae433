import { CliError, type UpOptions } from './cli/shell.ts';
import type { Config } from './config/config.ts';
import { createDemoAccount, type DemoAccount } from './demo-account.ts';
import { findEngines } from './found-engines.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { createLog } from './log/log.ts';
import { openOffice } from './office.ts';
import { openOwnDatabase } from './open-database.ts';
import { readConfig, rememberConfig, settingsOf } from './settings.ts';
import { createProcesses } from './slots/processes.ts';
import { type DataDirLock, holdDataDir } from './store/embedded/data-dir-lock.ts';
import type { Surroundings } from './surroundings.ts';
import { systemClock } from './time/clock.ts';

/** `naru up`: serves until it is told to stop; resolves with the exit code. Throws a `CliError` for what the operator can mend. */
export async function up(options: UpOptions, around: Surroundings): Promise<number> {
  const settings = settingsOf(options, around);
  const say = (line: string): void => around.err(`naru: ${line}\n`);
  const lock = await holdDataDir(settings.dataDir, { pid: around.pid, describe: 'naru up' });
  try {
    if (settings.configFile === null) {
      for (const engine of await findEngines(settings.dataDir))
        say(`found ${engine.title} at ${engine.baseUrl}: its models are offered`);
    }
    const config = withAddress(readConfig(settings, around), options);
    rememberConfig(settings);
    return await serveUntilStopped({
      config,
      dataDir: settings.dataDir,
      lock,
      say,
      around,
      json: options.json,
    });
  } finally {
    lock.release();
  }
}

interface Serving {
  readonly config: Config;
  readonly dataDir: string;
  readonly lock: DataDirLock;
  readonly say: (line: string) => void;
  readonly around: Surroundings;
  readonly json: boolean;
}

async function serveUntilStopped({ config, dataDir, lock, say, around, json }: Serving): Promise<number> {
  const stop = Promise.withResolvers<void>();
  const hurry = new AbortController();
  let asked = 0;
  const forget = around.onStop(() => {
    asked += 1;
    if (asked === 1) stop.resolve();
    else hurry.abort();
  });
  const log = createLog(around.err, config.log.level, systemClock.now);
  const { database, close } = await openOwnDatabase(config, dataDir, around, say);
  try {
    const parts = { database, dataDir, clock: systemClock, log, processes: createProcesses(around.kill) };
    const gateway = await startAt({ ...parts, config });
    const url = `http://${config.listen.host}:${gateway.server.port}`;
    lock.describe(`naru up, listening on ${url}`);
    const office = openOffice(database, {
      clock: systemClock,
      keyPrefix: config.keys.prefix,
      close: async () => {},
    });
    const demo = await createDemoAccount(office);
    if (demo !== null) await around.out(json ? `${JSON.stringify(demoRow(demo))}\n` : welcome(demo, url));
    await around.out(
      json
        ? `${JSON.stringify({ event: 'listening', url, admin_port: gateway.admin.port })}\n`
        : `listening on ${url}\n`,
    );
    await stop.promise;
    say('stopping: no more connections, the requests in flight may end; once more to hurry');
    await gateway.close(hurry.signal);
    return 0;
  } finally {
    forget();
    await close();
  }
}

/** Starts the gateway; says which option mends an address that cannot be had. */
async function startAt(parts: Parameters<typeof startGateway>[0]): Promise<Gateway> {
  try {
    return await startGateway(parts);
  } catch (error) {
    throw explained(error, parts.config);
  }
}

function explained(error: unknown, config: Config): unknown {
  const { code, port, address } = error as { code?: unknown; port?: unknown; address?: unknown };
  if (code === 'EADDRINUSE') {
    const isAdmin = port === config.admin.port && port !== config.listen.port;
    const remedy = isAdmin
      ? 'choose another with admin.port in naru.yaml'
      : 'choose another with --port N, or listen.port in naru.yaml';
    return new CliError(`port ${String(port)} on ${String(address)} is taken by another program: ${remedy}`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES') {
    return new CliError(
      `cannot listen on ${String(address)} port ${String(port)} (${code}): choose others with --host and --port`,
    );
  }
  return error;
}

function withAddress(config: Config, options: UpOptions): Config {
  const listen = { host: options.host ?? config.listen.host, port: options.port ?? config.listen.port };
  return { ...config, listen };
}

function demoRow(demo: DemoAccount): object {
  return {
    event: 'demo_account',
    account_id: demo.accountId,
    key: demo.inferenceKey,
    management_key: demo.managementKey,
  };
}

function welcome(demo: DemoAccount, url: string): string {
  return `
  A demo account with ₩10,000 of credit is ready. Its keys are shown this once:

    inference key    ${demo.inferenceKey}
    management key   ${demo.managementKey}

  Ask it something:

curl ${url}/api/v1/chat/completions -H 'Authorization: Bearer ${demo.inferenceKey}' -H 'Content-Type: application/json' -d '{"model":"naru/demo","messages":[{"role":"user","content":"나루가 뭐야?"}]}'

`;
}
