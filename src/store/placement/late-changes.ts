import type { Clock } from '../../time/clock.ts';
import type { Change } from '../changes.ts';
import type { Sql } from '../sql.ts';
import type { LateReads } from './placement.ts';
import { nameOf, type ShardServer, type Shards, serversOf } from './shards.ts';

/** How often a server is queried whether it has finished its commits. */
const queryEveryMs = 50;
/** How soon a server that does not respond is queried again. */
const awayForMs = 500;

/** What `LateChanges` needs. */
export interface LateChangesParts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly shards: () => Shards;
  /** Reads again what changed; may be called twice for one change. */
  readonly apply: (changes: readonly Change[]) => Promise<void>;
}

/**
 * Reads accounts and keys that changed again, once no server can have their state of before: on a
 * distributed database a change is announced before the servers of its rows have committed
 * (docs/decisions/distribution.md). A server that is away delays its own rows only.
 */
export class LateChanges implements LateReads {
  readonly #parts: LateChangesParts;
  readonly #servers = new Map<string, ServerCommits>();

  constructor(parts: LateChangesParts) {
    this.#parts = parts;
  }

  note(changes: readonly Change[]): void {
    const rows = changes.filter(({ topic }) => topic === 'account' || topic === 'key');
    if (rows.length === 0) return;
    const shards = this.#parts.shards();
    for (const server of serversOf(shards)) {
      const isHere = ({ topic, subject }: Change): boolean =>
        topic === 'key' || isSame(shards.serverOf(shards.of(subject)), server);
      const commits = this.#servers.get(nameOf(server)) ?? new ServerCommits(server, this.#parts);
      this.#servers.set(nameOf(server), commits);
      commits.note(rows.filter(isHere));
    }
  }

  close(): void {
    for (const commits of this.#servers.values()) commits.close();
  }
}

function isSame(one: ShardServer | null, other: ShardServer): boolean {
  return one !== null && nameOf(one) === nameOf(other);
}

/** The changes that one server may not show yet. */
class ServerCommits {
  readonly #server: ShardServer;
  readonly #parts: LateChangesParts;
  readonly #noted = new Map<string, Change>();
  #isFollowed = false;
  #isClosed = false;

  constructor(server: ShardServer, parts: LateChangesParts) {
    this.#server = server;
    this.#parts = parts;
  }

  note(changes: readonly Change[]): void {
    this.#keep(changes);
    if (this.#isFollowed || this.#noted.size === 0) return;
    this.#isFollowed = true;
    void this.#follow();
  }

  close(): void {
    this.#isClosed = true;
  }

  #keep(changes: readonly Change[]): void {
    for (const change of changes) this.#noted.set(`${change.topic}/${change.subject}`, change);
  }

  async #follow(): Promise<void> {
    while (this.#noted.size > 0 && !this.#isClosed) {
      const changes = [...this.#noted.values()];
      this.#noted.clear();
      try {
        await this.#untilVisible();
        if (!this.#isClosed) await this.#parts.apply(changes);
      } catch {
        // The server is away, which its watch reports.
        this.#keep(changes);
        await this.#pause(awayForMs);
      }
    }
    this.#isFollowed = false;
  }

  /** What was announced before is visible when the commits of that time have ended. */
  async #untilVisible(): Promise<void> {
    const awaited = await this.#underWay();
    for (let now = awaited; !awaited.isDisjointFrom(now) && !this.#isClosed; now = await this.#underWay())
      await this.#pause(queryEveryMs);
  }

  #underWay(): Promise<ReadonlySet<string>> {
    return readCommitsUnderWay(this.#parts.sql, this.#server);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.after(ms, resolve));
  }
}

/**
 * The commits of two phases that a server of a cluster has prepared and not finished, by name. The
 * coordinator announces a change as soon as it has committed itself: its rows on that server are
 * visible once its name is not among these. Throws when the server does not respond.
 */
async function readCommitsUnderWay(sql: Sql, server: ShardServer): Promise<ReadonlySet<string>> {
  const [row] = await sql.query<{ success: boolean; result: string }>(
    `SELECT success, result FROM master_run_on_worker(ARRAY[$1::text], ARRAY[$2::int],
       ARRAY['SELECT coalesce(json_agg(gid), ''[]'') FROM pg_prepared_xacts WHERE database = current_database()'], false)`,
    [server.host, server.port],
  );
  if (row?.success !== true) throw new Error(`${nameOf(server)} does not respond: ${row?.result ?? ''}`);
  return new Set(JSON.parse(row.result) as readonly string[]);
}
