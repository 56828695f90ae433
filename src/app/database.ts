import type { Config } from '../config/config.ts';
import { describeError, type Log } from '../log/log.ts';
import {
  commandHolder,
  type DataDirHolder,
  type DataDirLock,
  DataDirLockedError,
  lockDataDir,
} from '../postgres/data-dir-lock.ts';
import { attachEmbedded, startEmbedded } from '../postgres/embedded.ts';
import { statementTimeoutMs } from '../store/connection.ts';
import { Database } from '../store/database.ts';
import { durabilityFaults, readDurability } from '../store/durability.ts';
import { pause, systemClock } from '../time/clock.ts';
import type { ProcessContext } from './process-context.ts';

/** An open database and how to close it. */
export interface OpenedDatabase {
  readonly database: Database;
  close(): Promise<void>;
}

const commandsEndWithinMs = 30_000;
const serversStartWithinMs = 15_000;

/** Optional members of how the process opens its database. */
export interface OpeningOptions {
  /** The statement timeout; null: none. */
  readonly limitMs?: number | null;
  /** Called when the server runs, or is about to. */
  readonly onLaunch?: () => void;
  /** Called with the reason when the embedded server ended by itself. */
  readonly onExit?: (reason: string) => void;
}

/**
 * Opens the database for the serving process: the configured server, or the embedded one, which
 * this process then owns. The caller holds the lock of the data directory.
 */
export async function openOwnDatabase(
  config: Config,
  dataDir: string,
  proc: ProcessContext,
  progress: (line: string) => void,
  { limitMs = statementTimeoutMs, onLaunch = () => {}, onExit = progress }: OpeningOptions = {},
): Promise<OpenedDatabase> {
  const { url } = config.database;
  if (url !== 'embedded') {
    onLaunch();
    return opened(new Database({ connectionString: url.reveal() }, 8, limitMs), async () => {});
  }
  const server = await startEmbedded({
    dataDir,
    uid: proc.uid,
    env: proc.env,
    progress,
    onExit,
    onLaunch,
  });
  return opened(new Database(server.connection, 8, limitMs), () => server.stop());
}

/**
 * Logs settings of an external server that can lose an acknowledged
 * charge. It only warns: a hosted service may report `fsync` off because its log is stored
 * elsewhere. Never throws.
 */
export async function warnOfUnsafeServer(config: Config, database: Database, log: Log): Promise<void> {
  if (config.database.url === 'embedded') return;
  try {
    for (const fault of durabilityFaults(await readDurability(database), config.settlement.keepSettledMs))
      log.warn('database_unsafe', { detail: fault });
  } catch (error) {
    log.warn('database_settings_unknown', { detail: describeError(error) });
  }
}

/**
 * Opens the database for one command: that of a running server, or the embedded one, started for
 * the duration of the command.
 */
export async function openDatabaseBeside(
  config: Config,
  dataDir: string,
  proc: ProcessContext,
): Promise<OpenedDatabase> {
  if (config.database.url !== 'embedded')
    return openOwnDatabase(config, dataDir, proc, () => {}, { limitMs: null });
  const running = await attachUnlessFree(dataDir, proc);
  if ('database' in running) return running;
  try {
    const progress = (line: string): void => proc.err(`naru: ${line}\n`);
    const own = await openOwnDatabase(config, dataDir, proc, progress, { limitMs: null });
    return {
      database: own.database,
      close: async () => {
        await own.close();
        running.release();
      },
    };
  } catch (error) {
    running.release();
    throw error;
  }
}

/** Locks the data directory like `lockDataDir`, but waits for another command that holds it. */
export async function holdAfterCommands(dataDir: string, info: DataDirHolder): Promise<DataDirLock> {
  const beganMs = systemClock.monotonic();
  for (;;) {
    try {
      return await lockDataDir(dataDir, info);
    } catch (error) {
      const isHeldBriefly = error instanceof DataDirLockedError && error.isByCommand;
      if (!isHeldBriefly || systemClock.monotonic() - beganMs > commandsEndWithinMs) throw error;
      await pause(systemClock, 50, new AbortController().signal);
    }
  }
}

/**
 * The database of the server that holds the data directory, or the lock of the directory. The lock
 * decides: a database that another command started for itself also accepts connections, but ends
 * soon.
 */
async function attachUnlessFree(
  dataDir: string,
  proc: ProcessContext,
): Promise<OpenedDatabase | DataDirLock> {
  const beganMs = systemClock.monotonic();
  for (;;) {
    try {
      return await holdAfterCommands(dataDir, commandHolder(proc.pid));
    } catch (error) {
      if (!(error instanceof DataDirLockedError)) throw error;
      const running = await attachEmbedded(dataDir);
      if (running !== null) return opened(new Database(running), async () => {});
      // A starting server locks the directory before its database is up.
      if (systemClock.monotonic() - beganMs > serversStartWithinMs) throw error;
      await pause(systemClock, 100, new AbortController().signal);
    }
  }
}

function opened(database: Database, stop: () => Promise<void>): OpenedDatabase {
  return {
    database,
    close: async () => {
      await database.close();
      await stop();
    },
  };
}
