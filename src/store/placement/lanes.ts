import { within } from '../../time/clock.ts';
import { addressAt, disconnect, statementTimeoutMs } from '../connection.ts';
import { SerialConnection } from '../serial-connection.ts';
import type { PlacementParts } from './placement-parts.ts';
import { nameOf, type ServerWithShards, type ShardServer, type Shards, serversOf } from './shards.ts';

/** How long a connection may take that only shows that a server is there. */
const probeWithinMs = 1_000;
/** How soon a server that does not respond counts as away. */
const lookWithinMs = 1_500;

/** How the accounts of one server of a cluster are reached. */
export interface Lane {
  /** By the first server of the cluster. */
  readonly ordered: SerialConnection;
  /** At the server itself, in turns of the other; null: it was not reached yet. */
  entry: SerialConnection | null;
}

/**
 * The connections to a cluster, a lane for each server that has shards: one that is away delays its
 * own accounts only.
 */
export class ShardLanes {
  readonly #parts: PlacementParts;
  readonly #lanes = new Map<string, Lane>();
  #away: ReadonlySet<string> = new Set();

  constructor(parts: PlacementParts) {
    this.#parts = parts;
  }

  /** The lane of a server; none when it is the one that we are on. */
  of(server: ShardServer | null): Lane | undefined {
    return server === null ? undefined : this.#lanes.get(nameOf(server));
  }

  get ordered(): readonly SerialConnection[] {
    return [...this.#lanes.values()].map(({ ordered }) => ordered);
  }

  /** Whether a server was away at the last `look`; the one that we are on never is. */
  isAway(server: ShardServer | null): boolean {
    return server !== null && this.#away.has(nameOf(server));
  }

  /** Whether a server was not reached directly yet. */
  get isIncomplete(): boolean {
    return [...this.#lanes.values()].some(({ entry }) => entry === null);
  }

  /** Opens what is missing. Never rejects. */
  async openFor(shards: Shards): Promise<void> {
    await Promise.all(serversOf(shards).map((server) => this.#open(server)));
  }

  /** Looks which servers do not respond. Never rejects. */
  async look(shards: Shards): Promise<void> {
    const servers = serversOf(shards);
    const found = await Promise.all(servers.map((server) => this.#isThere(server)));
    this.#away = new Set(servers.filter((_, at) => found[at] === false).map(nameOf));
  }

  async close(): Promise<void> {
    for (const { ordered, entry } of this.#lanes.values()) {
      await ordered.close();
      await entry?.close();
    }
  }

  async #open(server: ServerWithShards): Promise<void> {
    const lane = this.#lanes.get(nameOf(server)) ?? { ordered: this.#parts.openOrdered(), entry: null };
    this.#lanes.set(nameOf(server), lane);
    if (lane.entry !== null || !(await this.#isReached(server))) return;
    const address = addressAt(this.#parts.address, server);
    lane.entry = new SerialConnection(() => this.#parts.connect(address, statementTimeoutMs));
  }

  /** Directly where it was reached before, else as the first server sees it. */
  #isThere(server: ShardServer): Promise<boolean> {
    const isDirect = (this.of(server)?.entry ?? null) !== null;
    const isThere = isDirect ? this.#isReached(server) : this.#isReachedByCluster(server);
    return within(this.#parts.clock, lookWithinMs, isThere, false);
  }

  async #isReached(server: ShardServer): Promise<boolean> {
    const { address, connect } = this.#parts;
    try {
      await disconnect(await connect(addressAt(address, server), probeWithinMs));
      return true;
    } catch {
      return false;
    }
  }

  async #isReachedByCluster({ host, port }: ShardServer): Promise<boolean> {
    try {
      const [row] = await this.#parts.database.query<{ is_there: boolean }>(
        'SELECT citus_check_connection_to_node($1, $2) AS is_there',
        [host, port],
      );
      return row?.is_there === true;
    } catch {
      return false;
    }
  }
}
