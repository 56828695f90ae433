import type { FaultKind } from './faults.ts';
import type { Random } from './random.ts';

/** From the least to the most, both included. */
type Range = readonly [number, number];

/** What one world is like; drawn from its seed before anything happens in it. */
export interface Plan {
  /**
   * `stormy`: everything fails. `tight`: many clients of many nodes spend scarce credit, and little
   * fails. `slow`: little happens in much time, and faults last longer than any wait. `crowded`:
   * many clients of several nodes wait for the credit of one account, and nothing fails, so that
   * nothing excuses a request that waits too long or is overtaken.
   */
  readonly kind: 'stormy' | 'tight' | 'slow' | 'crowded' | 'quiet';
  readonly gateways: number;
  readonly accounts: number;
  readonly clients: number;
  /** So many keys of a thousand have a limit, of so many won. */
  readonly limited: number;
  readonly limitWon: Range;
  /** So many keys of a thousand expire, after so long. */
  readonly expiring: number;
  readonly firstGrantWon: Range;
  readonly grantWon: Range;
  /**
   * How long the operator rests between two acts, and a client between two requests at the most.
   */
  readonly operatorRestsMs: Range;
  readonly clientRestsMs: readonly number[];
  /**
   * The operator also deducts credit, and lowers limits: the nodes' leases are then already spent.
   */
  readonly takesAway: boolean;
  readonly ack: 'journal' | 'database';
  readonly faults: readonly FaultKind[];
  readonly faultEveryMs: Range;
}

const everything: readonly FaultKind[] = [
  'kill',
  'power',
  'stop',
  'cut',
  'silence',
  'server',
  'clock',
  'reload',
  'reload',
  'bad disk',
  'cornered',
  'slow disk',
  'slow network',
  'at commit',
  'at commit',
  'at sync',
  'at sync',
];

/** How the gateways of a world lose their memory. */
export interface Forgetting {
  /** The capacity of the caches of accounts and keys, unused entries included. */
  readonly kept: number;
  /** The interval of the clock's cursor, which passes all of these few entries. */
  readonly everyMs: number;
}

/**
 * Draws how a world's caches evict; null: not at all. From a separate random sequence: otherwise
 * the world would change.
 */
export function forgettingOf(random: Random): Forgetting | null {
  if (random.inThousand(600)) return null;
  return { kept: random.pick([0, 0, 1, 2]), everyMs: random.pick([5, 20, 100, 400]) };
}

/**
 * How many requests of a thousand are large: their estimates take most of the remaining credit, so
 * that they wait. From a separate random sequence.
 */
export function largeOf(random: Random): number {
  return random.pick([0, 0, 100, 300]);
}

/** Draws a world. */
export function planOf(random: Random): Plan {
  const ack = random.inThousand(200) ? 'database' : 'journal';
  const takesAway = random.inThousand(300);
  const kind = random.int(0, 9);
  if (kind < 4) return tight(random, { ack, takesAway });
  return kind < 6 ? slow(random, { ack, takesAway }) : stormy(random, { ack, takesAway });
}

/**
 * Draws whether a tight world is a crowded one instead; null: it stays unchanged. From a separate
 * random sequence, as `largeOf`.
 */
export function crowdOf(random: Random, { ack }: Plan): Plan | null {
  if (random.inThousand(600)) return null;
  return {
    ...tight(random, { ack, takesAway: false }),
    kind: 'crowded',
    accounts: 1,
    clients: random.int(6, 16),
    limited: 300,
    limitWon: [300, 900],
    expiring: 0,
    grantWon: [30, 400],
    operatorRestsMs: [200, 1_000],
    clientRestsMs: [5, 60, 400],
    faults: [],
  };
}

/** A small world without faults except those of the caller. */
export function quietPlan(random: Random): Plan {
  return {
    ...stormy(random, { ack: random.inThousand(300) ? 'database' : 'journal', takesAway: false }),
    kind: 'quiet',
    gateways: 2,
    clients: 3,
    faults: [],
  };
}

type Drawn = Pick<Plan, 'ack' | 'takesAway'>;

function stormy(random: Random, drawn: Drawn): Plan {
  return {
    kind: 'stormy',
    gateways: random.int(1, 3),
    accounts: random.int(2, 3),
    clients: random.int(3, 6),
    limited: 400,
    limitWon: [100, 600],
    expiring: 150,
    firstGrantWon: [100, 1_500],
    grantWon: [20, 300],
    operatorRestsMs: [200, 2_500],
    clientRestsMs: [20, 60, 400],
    ...drawn,
    faults: everything,
    faultEveryMs: [100, 2_000],
  };
}

function tight(random: Random, drawn: Drawn): Plan {
  return {
    kind: 'tight',
    gateways: random.int(2, 4),
    accounts: random.int(1, 2),
    clients: random.int(6, 14),
    limited: 600,
    limitWon: [100, 400],
    expiring: 100,
    firstGrantWon: [200, 600],
    grantWon: [100, 400],
    operatorRestsMs: [50, 600],
    clientRestsMs: [5, 20, 60],
    ...drawn,
    faults: ['stop', 'kill', 'silence', 'slow network', 'reload', 'at commit', 'at sync', 'clock'],
    faultEveryMs: [1_000, 8_000],
  };
}

function slow(random: Random, drawn: Drawn): Plan {
  return {
    ...stormy(random, drawn),
    kind: 'slow',
    gateways: 1,
    clients: random.int(2, 4),
    limited: 100,
    expiring: 0,
    firstGrantWon: [3_000, 6_000],
    operatorRestsMs: [2_000, 15_000],
    clientRestsMs: [400, 1_500],
    faults: ['cornered', 'cornered', 'cornered', 'power', 'clock', 'silence', 'bad disk', 'stop'],
    faultEveryMs: [1_000, 8_000],
  };
}
