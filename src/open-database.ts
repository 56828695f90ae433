import { existsSync } from 'node:fs';
import type { Config } from './config/config.ts';
import { Database } from './store/database.ts';
import { holdDataDir } from './store/embedded/data-dir-lock.ts';
import { attachEmbedded, startEmbedded } from './store/embedded/embedded.ts';
import type { Surroundings } from './surroundings.ts';

/** An open database and how to let go of it. */
export interface OpenedDatabase {
  readonly database: Database;
  close(): Promise<void>;
}

/**
 * Opens the database for the process that serves: the configured server, or the embedded one, which this process then owns.
 * The caller holds the data directory.
 */
export async function openOwnDatabase(
  config: Config,
  dataDir: string,
  around: Surroundings,
  progress: (line: string) => void,
): Promise<OpenedDatabase> {
  const { url } = config.database;
  if (url !== 'embedded') return opened(new Database({ connectionString: url.reveal() }), async () => {});
  const server = await startEmbedded({
    dataDir,
    uid: around.uid,
    env: around.env,
    progress,
    onExit: progress,
  });
  return opened(new Database(server.connection), () => server.stop());
}

/** Opens the database for one command: beside a server that runs, or by starting the embedded one for as long as it takes. */
export async function openDatabaseBeside(
  config: Config,
  dataDir: string,
  around: Surroundings,
): Promise<OpenedDatabase> {
  if (config.database.url !== 'embedded') return openOwnDatabase(config, dataDir, around, () => {});
  const running = existsSync(dataDir) ? await attachEmbedded(dataDir) : null;
  if (running !== null) return opened(new Database(running), async () => {});
  const lock = await holdDataDir(dataDir, { pid: around.pid, describe: 'a naru command' });
  try {
    const own = await openOwnDatabase(config, dataDir, around, (line) => around.err(`naru: ${line}\n`));
    return {
      database: own.database,
      close: async () => {
        await own.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
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
