import type { Client } from 'pg';
import { within } from '../../time/clock.ts';
import type { Change } from '../changes.ts';
import { DatabaseAway } from '../connection.ts';
import type { SerialConnection } from '../serial-connection.ts';
import type { Sql } from '../sql.ts';
import { type Lane, ShardLanes } from './lanes.ts';
import { LateChanges } from './late-changes.ts';
import type {
  AccountServer,
  ChangeOfParts,
  LateReads,
  PartitionReplacement,
  PartQueue,
  Placement,
  WorkLimits,
} from './placement.ts';
import type { PlacementParts } from './placement-parts.ts';
import { changeShards, eachShard, mergeServers, readServers } from './shard-views.ts';
import { isSamePlacement, nameOf, type Shards, serversOf } from './shards.ts';

/** How long a start waits for shards that are away. */
const maxAwayWaitMs = 2_000;
/**
 * How long changes wait for one server of a cluster. Without them memory is stale after a second,
 * for all accounts.
 */
const maxDelayMs = 300;

/** The accounts are in the shards of an engine over several servers (docs/decisions/distribution.md). */
export class ShardPlacement implements Placement {
  readonly #parts: PlacementParts;
  readonly #lanes: ShardLanes;
  #shards: Shards;
  /** Shards whose accounts are not read: settlements of an earlier process come first. */
  readonly #held = new Set<number>();

  constructor(parts: PlacementParts, shards: Shards) {
    this.#parts = parts;
    this.#shards = shards;
    this.#lanes = new ShardLanes(parts);
  }

  /** Follows shards that an operator has moved; opens connections that are missing. */
  async follow(shards: Shards): Promise<void> {
    await this.#lanes.openFor(shards);
    const isMoved = !isSamePlacement(shards, this.#shards);
    this.#shards = shards;
    if (!isMoved) return;
    // An account that has another connection from now on is not read there before its settlements
    // that are under way.
    const earlier = Promise.all(this.ordered.map((each) => each.idle()));
    for (const each of this.ordered) void each.inTurn(() => earlier);
  }

  get parts(): number {
    return this.#shards.count;
  }

  partOf(accountId: number): number {
    return this.#shards.of(accountId);
  }

  get servers(): readonly AccountServer[] {
    return serversOf(this.#shards).map((server) => ({
      name: nameOf(server),
      parts: server.shards,
      isAway: this.#lanes.isAway(server),
    }));
  }

  async look(): Promise<void> {
    await this.#lanes.look(this.#shards);
    // One that was away when the shards were read may take settlements directly now.
    if (this.#lanes.isIncomplete) await this.#lanes.openFor(this.#shards);
  }

  isAway(accountId: number): boolean {
    return this.#lanes.isAway(this.#shards.serverOf(this.partOf(accountId)));
  }

  orderedFor(accountId: number): SerialConnection {
    return this.#laneOf(accountId)?.ordered ?? this.#parts.serial;
  }

  get ordered(): readonly SerialConnection[] {
    return [this.#parts.serial, ...this.#lanes.ordered];
  }

  /**
   * On a connection to the server that has the shard, if that is reached: there the engine needs no
   * second server for it, and no two-phase commit.
   */
  settle<T>(
    accountId: number,
    use: (client: Client) => Promise<T>,
    isInDoubt?: (error: unknown) => boolean,
  ): Promise<T> {
    const { ordered, entry } = this.#laneOf(accountId) ?? { ordered: this.#parts.serial, entry: null };
    if (entry === null) return ordered.run((_sql, client) => use(client), isInDoubt);
    return ordered.inTurn(() => entry.run((_sql, client) => use(client), isInDoubt));
  }

  async drained(queues: readonly PartQueue[]): Promise<readonly number[]> {
    const waiting = new Set(queues);
    const all = Promise.all(
      queues.map(async (queue) => {
        await queue.drained;
        waiting.delete(queue);
      }),
    ).then(() => true);
    const isAway = (): boolean => [...waiting].every(({ isFailing }) => isFailing());
    while (!(await within(this.#parts.clock, maxAwayWaitMs, all, false)) && !isAway());
    for (const { part, drained } of waiting) void this.#holdReads(part, drained);
    return [...waiting].map(({ part }) => part);
  }

  async #holdReads(shard: number, until: Promise<void>): Promise<void> {
    this.#held.add(shard);
    await until;
    this.#held.delete(shard);
  }

  assertDrained(accountId: number): void {
    if (this.#held.has(this.partOf(accountId)))
      throw new DatabaseAway('settlements of an earlier process wait for the shard of this account');
  }

  async inTime(work: Promise<unknown>, failed: () => void, limitMs = maxDelayMs): Promise<void> {
    const done = work.then(() => true, failed);
    if ((await within(this.#parts.clock, limitMs, done, 'late')) === 'late') failed();
  }

  lateReads(apply: (changes: readonly Change[]) => Promise<void>): LateReads {
    const { clock, database } = this.#parts;
    return new LateChanges({ clock, sql: database, shards: () => this.#shards, apply });
  }

  async eachReached(tables: readonly string[], read: (sql: Sql) => Promise<void>): Promise<void> {
    const isReached = (server: { readonly host: string; readonly port: number } | null): boolean =>
      !this.#lanes.isAway(server);
    if (this.servers.every(({ isAway }) => !isAway)) await read(this.#parts.database);
    else await readServers(this.#parts, { tables, only: isReached }, read);
  }

  eachPart(
    _sql: Sql,
    options: WorkLimits & { readonly copied: readonly string[] },
    work: (sql: Sql, part: number) => Promise<void>,
  ): Promise<void> {
    return eachShard(this.#parts, options, work);
  }

  changeParts(
    _sql: Sql,
    { accounts, ...options }: ChangeOfParts,
    work: (sql: Sql) => Promise<void>,
  ): Promise<void> {
    const wanted =
      accounts === null ? null : new Set(accounts.map((account) => this.partOf(Number(account))));
    return changeShards(this.#parts, { ...options, only: (shard) => wanted?.has(shard) ?? true }, work);
  }

  async replacePartition(
    sql: Sql,
    { partition, tables, mark, assertMarked, storeSums, storeTotals, drop }: PartitionReplacement,
  ): Promise<void> {
    await mark(this.#parts.database);
    await changeShards(this.#parts, { partition, tables }, async (ofShard, shard) => {
      // An earlier call may have dropped it.
      if (shard.partition === null || !(await isThere(ofShard, shard.partition))) return;
      await assertMarked(ofShard);
      await storeSums(ofShard, shard.partition);
      await drop(ofShard, shard.partition);
    });
    // No shard has records of it any more, so that nothing waits for this transaction for long.
    await drop(sql, partition);
    await storeTotals(sql);
  }

  merge<T>(read: (sql: Sql) => AsyncGenerator<T>, compare: (a: T, b: T) => number): AsyncGenerator<T> {
    return mergeServers(this.#parts, read, compare);
  }

  close(): Promise<void> {
    return this.#lanes.close();
  }

  #laneOf(accountId: number): Lane | undefined {
    return this.#lanes.of(this.#shards.serverOf(this.partOf(accountId)));
  }
}

async function isThere(sql: Sql, table: string): Promise<boolean> {
  const [row] = await sql.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table]);
  return row?.found === true;
}
