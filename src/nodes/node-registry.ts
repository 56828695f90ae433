import { randomUUID } from 'node:crypto';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import { claimAtStart, NodeIdentityTaken } from './node-identity.ts';
import {
  beatAndList,
  claimHome,
  describeNode,
  listNodes,
  type NodeClaim,
  type NodeDescription,
  type NodeRow,
  nodeLostMs,
  noteAddress,
  noteAlive,
  type ReportedPrices,
  removeLostNodes,
  removeNode,
} from './nodes-sql.ts';
import { type ProcessMarks, systemProcessMarks } from './process-mark.ts';

/** How often a node updates its row to show that it is alive. */
export const beatEveryMs = 1_000;
/**
 * How long a node that starts waits for the others to know it: a node that is slower than this
 * admits nothing, since its memory is stale.
 */
const seenWithinMs = 1_500;
const lookEveryMs = 25;
/**
 * The leases of a node that has been lost for an hour are dropped, and the node with them when its
 * journal has no charges.
 */
const removedAfterMs = 3_600_000;

/** What `NodeRegistry` needs. */
export interface NodeRegistryParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Identifies the data directory; see `nodeDir`. */
  readonly home: string;
  readonly address: string;
  /** Its journal may hold charges that the database does not have; true by default. */
  readonly keepsCharges?: boolean;
  /** What it reports of its prices; nothing by default. */
  readonly prices?: () => ReportedPrices;
  /** What runs here; nothing by default. */
  readonly describe?: () => NodeDescription;
  /** Those of the system by default. */
  readonly marks?: ProcessMarks;
  /**
   * Called once when another process has taken over the identity of this node, which must stop
   * then.
   */
  readonly onSuperseded?: ((error: NodeIdentityTaken) => void) | undefined;
}

/** Which other nodes serve from the same database. A node that is alone spends without a query. */
export class NodeRegistry {
  readonly #parts: NodeRegistryParts;
  readonly #marks: ProcessMarks;
  readonly #session = randomUUID();
  #superseded: NodeIdentityTaken | null = null;
  #id = 0;
  /** Under which number it was described last, and how. */
  #described = '';
  /** The last node that this one has published as known. */
  #knows = 0;
  #others: readonly NodeRow[] = [];
  #aloneSinceMs = Number.NEGATIVE_INFINITY;
  #otherNodes: () => Promise<void> = async () => {};
  #beating: Promise<void> = Promise.resolve();
  #untilSeen: Promise<void> | null = null;
  #hasLeft = false;
  /**
   * When this node last showed that it is alive, by its own monotonic clock, read before the update
   * of its row.
   */
  #seenMs: number;

  private constructor(parts: NodeRegistryParts) {
    this.#parts = parts;
    this.#marks = parts.marks ?? systemProcessMarks();
    this.#seenMs = parts.clock.monotonic();
  }

  /**
   * Registers this node; resolves when every other live node knows it. Throws `NodeIdentityTaken`
   * when another process serves with the identity of this data directory.
   */
  static async join(parts: NodeRegistryParts): Promise<NodeRegistry> {
    const registry = new NodeRegistry(parts);
    const { database, clock } = parts;
    registry.#id = await claimAtStart({ database, clock, marks: registry.#marks }, registry.#claim);
    await registry.beat();
    await registry.#waitUntilSeen();
    return registry;
  }

  get #claim(): NodeClaim {
    const { home, address, keepsCharges = true } = this.#parts;
    return { home, address, keepsCharges, session: this.#session, process: this.#marks.own };
  }

  /**
   * Pending while the others may not know this node yet: it admits nothing then. Null otherwise.
   * Never rejects.
   */
  get untilSeen(): Promise<void> | null {
    return this.#untilSeen;
  }

  /** This node's number: later nodes have higher ones. */
  get id(): number {
    return this.#id;
  }

  /** Whether no other node serves, by the last beat. */
  get isAlone(): boolean {
    return this.#others.length === 0;
  }

  /**
   * Whether the others cannot have considered this node lost. Otherwise they may have granted its
   * leases to others, and a `beat` registers it again.
   */
  get isSeen(): boolean {
    return this.#parts.clock.monotonic() - this.#seenMs < nodeLostMs;
  }

  /**
   * The monotonic instant at which the last other node was found gone; reads from then on include
   * what it spent.
   */
  get aloneSinceMs(): number {
    return this.#aloneSinceMs;
  }

  /** How many nodes serve, this one included. */
  get count(): number {
    return this.#others.length + 1;
  }

  /** Whether this is the oldest node, which does what only one node should do. */
  get isFirst(): boolean {
    return this.#others.every((other) => other.id > this.#id);
  }

  /** Sets what runs when this node is alone no more, before the new node is published as known. */
  onOtherNodes(otherNodes: () => Promise<void>): void {
    this.#otherNodes = otherNodes;
  }

  /**
   * Updates this node's row and reads the others. One beat at a time; rejects when the database is
   * away, and after `leave`.
   */
  beat(): Promise<void> {
    const turn = this.#beating.then(() => this.#look());
    this.#beating = turn.catch(() => {});
    return turn;
  }

  /**
   * Follows a change of the list of nodes. It is a beat unless this node is and stays alone: then
   * nobody has to learn anything from it, and it only reads. So a database that accepts no writes
   * does not keep a node that is alone from following changes.
   */
  followList(): Promise<void> {
    const turn = this.#beating.then(async () => {
      if (!(await this.#staysAlone())) await this.#look();
    });
    this.#beating = turn.catch(() => {});
    return turn;
  }

  async #staysAlone(): Promise<boolean> {
    if (!this.isAlone || this.#hasLeft || this.#superseded !== null) return false;
    const nodes = await listNodes(this.#parts.database);
    return (
      nodes.some(({ id }) => id === this.#id) &&
      nodes.every(({ id, silentMs }) => id === this.#id || silentMs >= nodeLostMs)
    );
  }

  /** Records the address at which this node serves, for operators. */
  async serveAt(address: string): Promise<void> {
    await noteAddress(this.#parts.database, this.#id, address);
  }

  /** Removes nodes that were lost long ago. */
  async forgetLost(): Promise<void> {
    if (this.isFirst) await removeLostNodes(this.#parts.database, removedAfterMs);
  }

  /**
   * Leaves, so that the others need not wait for it to be lost. A node whose journal still has
   * charges stays in the list, as a lost one. Never throws.
   */
  async leave(hasSettled = true): Promise<void> {
    // A beat that is still to come would find the node unlisted, and register it again.
    this.#hasLeft = true;
    try {
      await this.#beating;
      if (!hasSettled) return;
      await removeNode(this.#parts.database, this.#id);
    } catch (error) {
      this.#parts.log.warn('node_left_unseen', { detail: describeError(error) });
    }
  }

  async #describe(): Promise<void> {
    const description = this.#parts.describe?.();
    const described = JSON.stringify([this.#id, description]);
    if (description === undefined || described === this.#described) return;
    await describeNode(this.#parts.database, this.#id, description);
    this.#described = described;
  }

  async #look(): Promise<void> {
    if (this.#hasLeft) throw new Error('this node has left');
    if (this.#superseded !== null) throw this.#superseded;
    const { database, clock, prices = () => ({ edition: null, differences: null }) } = this.#parts;
    const beganMs = clock.monotonic();
    // The others have considered this node lost, and may be lost themselves: the list in memory is
    // not valid.
    if (!this.isSeen) await this.#joinAgain();
    const { nodes, isListed } = await beatAndList(database, this.#id, prices());
    await this.#describe();
    const others = nodes.filter((node) => node.id !== this.#id && node.silentMs < nodeLostMs);
    const wasAlone = this.isAlone;
    if (!wasAlone && others.length === 0) this.#aloneSinceMs = clock.monotonic();
    // From this turn on the others are counted in every admission; only then are they published as
    // known.
    this.#others = others;
    if (wasAlone && !this.isAlone) {
      try {
        await this.#otherNodes();
      } catch (error) {
        this.#others = [];
        throw error;
      }
    }
    const knows = Math.max(this.#id, ...nodes.map((node) => node.id));
    const isKept = knows > this.#knows ? await noteAlive(database, this.#id, knows) : isListed;
    this.#knows = Math.max(knows, this.#knows);
    // The beat itself may take so long that this node was considered lost meanwhile.
    if (isKept && this.isSeen) this.#seenMs = beganMs;
    else await this.#joinAgain();
  }

  /**
   * Registers a node that was considered lost as a new one: its outstanding credit is published
   * under its new number.
   */
  async #joinAgain(): Promise<void> {
    const { clock, database, log } = this.#parts;
    const beganMs = clock.monotonic();
    // Until that is published this node is not seen: it would have to join once more.
    this.#seenMs = Number.NEGATIVE_INFINITY;
    const outcome = await claimHome(database, this.#claim, () => false);
    if (outcome.kind === 'taken')
      throw this.#supersede(new NodeIdentityTaken(this.#parts.home, outcome.holder));
    this.#id = outcome.id;
    log.warn('node_joined_again', { node: this.#id });
    const published = this.#otherNodes();
    void this.#waitUntilSeen(published.catch(() => {}));
    await published;
    this.#seenMs = beganMs;
  }

  /**
   * Another process serves in the place of this one: if it came back, the two would replace each
   * other without end.
   */
  #supersede(error: NodeIdentityTaken): NodeIdentityTaken {
    this.#superseded = error;
    this.#parts.log.error('node_superseded', { node: this.#id, detail: error.message });
    this.#parts.onSuperseded?.(error);
    return error;
  }

  /** Begins at once, and ends when the others know this node, `after` they could. */
  #waitUntilSeen(after: Promise<void> = Promise.resolve()): Promise<void> {
    const untilSeen = after
      .then(() => this.#untilAcquainted())
      .finally(() => {
        if (this.#untilSeen === untilSeen) this.#untilSeen = null;
      });
    this.#untilSeen = untilSeen;
    return untilSeen;
  }

  async #untilAcquainted(): Promise<void> {
    const { clock } = this.#parts;
    const endMs = clock.monotonic() + seenWithinMs;
    while (clock.monotonic() < endMs) {
      if (await this.#isKnown()) return;
      await pause(clock, lookEveryMs, new AbortController().signal);
    }
  }

  /** Whether every other live node knows this one; false, too, when the database is away. */
  async #isKnown(): Promise<boolean> {
    try {
      const nodes = await listNodes(this.#parts.database);
      // Nodes that start at once wait for each other: a node that waits publishes that it knows the
      // later ones.
      if (nodes.some((node) => node.id > this.#knows)) await this.beat();
      return nodes.every(
        (node) => node.id === this.#id || node.silentMs >= nodeLostMs || node.knows >= this.#id,
      );
    } catch {
      return false;
    }
  }
}
