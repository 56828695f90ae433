import { OperatorError } from '../errors/operator-error.ts';
import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import { claimHome, type NodeClaim, type NodeHolder, nodeLostMs, readHolder } from './nodes-sql.ts';
import type { ProcessMarks } from './process-mark.ts';

/**
 * How often a holder of an identity that may be dead is checked; one that is alive updates its row
 * twice a second.
 */
const lookEveryMs = 100;

/**
 * Another process serves with the identity of this data directory: one of the two directories is a
 * copy of the other.
 */
export class NodeIdentityTaken extends OperatorError {
  override readonly name = 'NodeIdentityTaken';

  constructor(home: string, { address, silentMs }: NodeHolder) {
    const seen = `${address}, seen ${Math.max(0, Math.round(silentMs))} ms ago`;
    super(
      `node identity ${home} is in use by another process (${seen}): this data directory is a copy, or the other one is. Stop the other process, or run \`naru node new-identity --data-dir DIR\` on the copy`,
    );
  }
}

/** What these functions need. */
export interface IdentityParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly marks: ProcessMarks;
}

/**
 * Registers a node that starts. A predecessor that is certainly dead is replaced at once, one that
 * may be dead when its lease is over; throws `NodeIdentityTaken` as soon as it proves to be alive.
 * The caller holds the lock of the data directory.
 */
export async function claimAtStart(parts: IdentityParts, claim: NodeClaim): Promise<number> {
  const check = new HolderCheck(parts);
  for (;;) {
    const outcome = await claimHome(parts.database, claim, (holder) => check.isDead(holder));
    if (outcome.kind === 'registered') return outcome.id;
    await check.wait(claim.home, outcome.holder);
  }
}

/**
 * Resolves when no process serves with an identity; throws `NodeIdentityTaken` as `claimAtStart`
 * does.
 */
export async function untilIdentityIsFree(parts: IdentityParts, home: string): Promise<void> {
  const check = new HolderCheck(parts);
  for (;;) {
    const holder = await readHolder(parts.database, home);
    if (holder === null || check.isDead(holder)) return;
    await check.wait(home, holder);
  }
}

/**
 * Whether the holder of an identity is dead: by its process where that can be seen, since a process
 * that is only paused still has its requests, and by its lease otherwise (spec:money/5.10).
 */
export function isHolderDead(holder: NodeHolder, { stateOf }: ProcessMarks): boolean {
  const state = stateOf(holder.process);
  return state === 'unknown' ? holder.silentMs >= nodeLostMs : state === 'dead';
}

/** Waits until the holder of an identity is dead, or has proved to be alive. */
class HolderCheck {
  readonly #parts: IdentityParts;
  #first: NodeHolder | null = null;

  constructor(parts: IdentityParts) {
    this.#parts = parts;
  }

  isDead(holder: NodeHolder): boolean {
    const { marks } = this.#parts;
    // One process has one journal: what is registered with its own mark is an earlier attempt to
    // start.
    if (holder.process === marks.own && marks.own !== '') return true;
    return isHolderDead(holder, marks);
  }

  /** Waits a moment for a holder that may be dead; throws when it is alive. */
  async wait(home: string, holder: NodeHolder): Promise<void> {
    const { clock, marks } = this.#parts;
    this.#first ??= holder;
    const hasMoved = holder.session !== this.#first.session || holder.seenAtMs > this.#first.seenAtMs;
    if (hasMoved || marks.stateOf(holder.process) === 'alive') throw new NodeIdentityTaken(home, holder);
    await pause(clock, lookEveryMs, new AbortController().signal);
  }
}
