import type { Log } from '../log/log.ts';
import type { Database } from './database.ts';
import { nameOf } from './shards.ts';

/** Reports servers of a cluster that stop responding, and that respond again. */
export class ServerWatch {
  readonly #database: Database;
  readonly #log: Log;
  readonly #onLooked: () => void;
  #away: ReadonlySet<string> = new Set();

  constructor(parts: { readonly database: Database; readonly log: Log; readonly onLooked: () => void }) {
    this.#database = parts.database;
    this.#log = parts.log;
    this.#onLooked = parts.onLooked;
  }

  async look(): Promise<void> {
    await this.#database.lookForServers();
    this.#onLooked();
    const away = new Map(this.#database.serversAway.map((server) => [nameOf(server), server.shards]));
    for (const [server, shards] of away)
      if (!this.#away.has(server))
        this.#log.error('database_server_away', { server, shards: shards.map((shard) => shard + 1).join() });
    for (const server of this.#away)
      if (!away.has(server)) this.#log.info('database_server_back', { server });
    this.#away = new Set(away.keys());
  }
}
