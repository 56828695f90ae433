import type { Log } from '../log/log.ts';
import type { Database } from './database.ts';

/** Reports servers of accounts that stop responding, and that respond again. */
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
    const { placement } = this.#database;
    await placement.look();
    this.#onLooked();
    const away = placement.servers.filter(({ isAway }) => isAway);
    const names = new Set(away.map(({ name }) => name));
    for (const { name: server, parts } of away)
      if (!this.#away.has(server))
        this.#log.error('database_server_away', { server, shards: parts.map((part) => part + 1).join() });
    for (const server of this.#away)
      if (!names.has(server)) this.#log.info('database_server_back', { server });
    this.#away = names;
  }
}
