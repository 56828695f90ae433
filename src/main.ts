#!/usr/bin/env node
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCli } from './cli/program.ts';
import { CliError, type Shell } from './cli/shell.ts';
import { openOffice } from './office.ts';
import { openDatabaseBeside } from './open-database.ts';
import { faultsOf, readConfig, settingsOf } from './settings.ts';
import { migrate } from './store/migrate.ts';
import type { Surroundings } from './surroundings.ts';
import { systemClock } from './time/clock.ts';
import { up } from './up.ts';

/** The process: environment, signals, exit code. Nothing below this file knows that there is one. */
const around: Surroundings = {
  env: process.env,
  pid: process.pid,
  uid: process.getuid?.() ?? -1,
  nodePath: process.execPath,
  root: dirname(dirname(fileURLToPath(import.meta.url))),
  cwd: process.cwd(),
  out: (text) =>
    new Promise((resolve, reject) =>
      process.stdout.write(text, (error) => (error ? reject(error) : resolve())),
    ),
  err: (text) => void process.stderr.write(text),
  kill: (pid, signal) => void process.kill(pid, signal),
  onStop(stop) {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.on(signal, stop);
    // The process that started us holds the other end: when it is gone, nobody is left to stop us.
    process.on('disconnect', stop);
    return () => {
      for (const signal of signals) process.off(signal, stop);
      process.off('disconnect', stop);
    };
  },
};

const shell: Shell = {
  out: around.out,
  err: around.err,
  async openOffice(places) {
    const settings = settingsOf(places, around);
    const config = readConfig(settings, around);
    const { database, close } = await openDatabaseBeside(config, settings.dataDir, around);
    await migrate(database);
    return openOffice(database, { clock: systemClock, keyPrefix: config.keys.prefix, close });
  },
  up: (options) => up(options, around),
  checkConfig: (places) => faultsOf(settingsOf(places, around), around),
};

process.channel?.unref();
process.stdout.on('error', () => process.exit(1));
runCli(shell, process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const expected = error instanceof CliError || (error instanceof Error && error.name === 'EmbeddedError');
    around.err(
      `naru: ${expected ? (error as Error).message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
