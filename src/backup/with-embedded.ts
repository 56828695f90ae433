import { type EmbeddedOptions, startEmbedded } from '../postgres/embedded.ts';
import { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';

/**
 * Runs `work` on the migrated database of an embedded server that runs for as long. When `signal`
 * aborts, the server stops, and what runs on it fails at once.
 */
export async function withEmbedded<T>(
  options: EmbeddedOptions,
  work: (database: Database) => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  const server = await startEmbedded(options);
  const stop = (): void => void server.stop();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const database = new Database(server.connection, 4, null);
    try {
      await migrate(database);
      return await work(database);
    } finally {
      await database.close();
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await server.stop();
  }
}
