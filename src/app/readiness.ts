import type { Readiness } from '../api/probes.ts';
import type { Database } from '../store/database.ts';
import { countMigrations, knownMigrations } from '../store/migrate.ts';
import { type Clock, within } from '../time/clock.ts';

/** How long a probe waits for the database: a load balancer needs a fast response. */
const responseTimeoutMs = 1_000;
/** How long a result is cached. */
const holdsForMs = 1_000;

const silent: Readiness = { ready: false, reason: 'the database does not respond' };

const refusing: Readiness = { ready: false, reason: 'the database accepts no new connections' };

/** The inputs of the check. */
export interface ReadinessParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether changes of other nodes arrive. */
  readonly isFresh: () => boolean;
  readonly isStopping: () => boolean;
}

/**
 * Checks whether this process can serve (spec:operator/3.2): the schema is current and the database
 * accepts new connections, since a database that is shutting down still serves existing sessions.
 * Queries the database at most once a second.
 */
export class ReadinessCheck {
  readonly #parts: ReadinessParts;
  #known: { readonly state: Readiness; readonly atMs: number } | null = null;
  #reading: Promise<Readiness> | null = null;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** Resolves within a second. */
  async state(): Promise<Readiness> {
    const { isFresh, isStopping } = this.#parts;
    if (isStopping()) return { ready: false, reason: 'the server is stopping' };
    const state = await this.#database();
    if (!state.ready) return state;
    const away = this.#parts.database.placement.servers.filter((server) => server.isAway);
    const shardsAway = away.flatMap(({ parts }) => parts.map((part) => part + 1));
    return isFresh() ? { ready: true, shardsAway } : silent;
  }

  #database(): Promise<Readiness> | Readiness {
    const { clock } = this.#parts;
    if (this.#known !== null && clock.monotonic() - this.#known.atMs < holdsForMs) return this.#known.state;
    this.#reading ??= this.#read();
    return within(clock, responseTimeoutMs, this.#reading, silent);
  }

  /** Never rejects. */
  async #read(): Promise<Readiness> {
    const { database, clock } = this.#parts;
    const [schema, connection] = await Promise.all([schemaState(database), database.tryConnection()]);
    // The pool may have no connection left: then a server that refuses has not responded to it.
    const isRefused = connection === 'refused' || (connection === 'no response' && schema.ready);
    const state = isRefused ? refusing : schema;
    this.#known = { state, atMs: clock.monotonic() };
    this.#reading = null;
    return state;
  }
}

async function schemaState(database: Database): Promise<Readiness> {
  try {
    return (await countMigrations(database)) === knownMigrations()
      ? { ready: true }
      : { ready: false, reason: 'the schema is not current' };
  } catch {
    return silent;
  }
}
