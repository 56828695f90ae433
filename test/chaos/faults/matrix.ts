import { getActiveResourcesInfo } from 'node:process';
import { loadTokenCounter } from '../../../src/metering/count-tokens.ts';
import { between, type Random, randomFrom } from '../orders.ts';
import { auditLedger, type Cell, isAtRest, leaksIn, probe, runCell, type Verdict } from './cell.ts';
import { budgets, openWorld, type World, type WorldState } from './world.ts';

/** How a matrix is run. */
export interface MatrixOptions {
  /** Stretches every limit and wait: on a busy host 300 ms are no reliable limit. */
  readonly scale: number;
  /** How much a cell may exceed its limit, milliseconds. */
  readonly marginMs: number;
  /** Only faults whose `class: name` contains this. */
  readonly only: string;
  /** Decides the order of the faults and of the cells of each. */
  readonly seed: number;
  /** Half of the cells of each fault, without those that keep the processor busy, many at once. */
  readonly brief: boolean;
  /** The maximum number of faults, spread over all classes; all of them by default. */
  readonly maxFaults?: number;
}

/** What was found. */
export interface MatrixReport {
  readonly verdicts: readonly Verdict[];
  /** What concerns no single cell: timers, sockets, secrets, redirects. Empty when all is well. */
  readonly faults: readonly string[];
  /** How often a cell was repeated because the processor may have been busy. */
  readonly retried: number;
  readonly requests: number;
}

/** How many faults that wait for a limit run concurrently: they wait, and compute nothing. */
const waitersAtOnce = 24;

const maxAttempts = 3;

/**
 * Whether a cell may have failed because of the host: by its time alone, with a fault that is a
 * race of the processor against a limit, or by a limit although its upstream never waits.
 */
function isLate({ faults, cell, tookMs, limitMs }: Verdict): boolean {
  if (faults.length === 0) return false;
  const { heavy, takes } = cell.standing.fault;
  if (takes === undefined && tookMs >= limitMs * (budgets.total / budgets.all)) return true;
  return heavy === true || faults.every((fault) => fault.startsWith('took '));
}

/**
 * Runs every fault × {stream, whole} × {1, 3 candidates}, and audits the ledger, the sockets, the
 * timers and the secrets.
 */
export async function runMatrix(options: MatrixOptions): Promise<MatrixReport> {
  await loadTokenCounter();
  const resources = countResources();
  const world = await openWorld(options);
  let report: MatrixReport;
  try {
    report = await new Run(world, options).all();
  } finally {
    await world.close();
  }
  const left = (): string[] =>
    [...countResources()]
      .filter(([kind, count]) => count > (resources.get(kind) ?? 0))
      .map(([kind, count]) => `${count} ${kind}`);
  const isClean = await isAtRest(() => left().length === 0, 10_000);
  return isClean
    ? report
    : { ...report, faults: [...report.faults, `left in the process after the end: ${left().join(', ')}`] };
}

class Run {
  readonly #world: World;
  readonly #options: MatrixOptions;
  readonly #random: Random;
  readonly #verdicts: Verdict[] = [];
  readonly #faults: string[] = [];
  #retried = 0;

  constructor(world: World, options: MatrixOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  async all(): Promise<MatrixReport> {
    const { brief } = this.#options;
    const heavy = this.#world.standing.filter(({ fault }) => fault.heavy === true);
    const standing = this.#shuffled(this.#world.standing.filter((each) => !heavy.includes(each)));
    const waiting = standing.filter(({ fault }) => fault.takes !== undefined);
    const crowd = brief ? standing.filter(({ fault }) => fault.manyTurns !== true) : waiting;
    await this.#waiters(crowd);
    // By themselves: what is left behind is known to be theirs.
    const others = [...standing.filter((each) => !crowd.includes(each)), ...(brief ? [] : heavy)];
    for (const each of others) await this.#fault(each, true);
    this.#look();
    const order = new Map(this.#world.standing.map((each, at) => [each, at]));
    this.#verdicts.sort((a, b) => (order.get(a.cell.standing) ?? 0) - (order.get(b.cell.standing) ?? 0));
    return {
      verdicts: this.#verdicts,
      faults: this.#faults,
      retried: this.#retried,
      requests: this.#world.naru.logged.filter((line) => line['event'] === 'request').length,
    };
  }

  async #waiters(waiting: readonly WorldState[]): Promise<void> {
    const queue = [...waiting];
    const next = async (): Promise<void> => {
      for (let each = queue.shift(); each !== undefined; each = queue.shift()) await this.#fault(each, false);
    };
    await Promise.all(Array.from({ length: waitersAtOnce }, next));
    if (!(await this.#timersEnd()))
      this.#faults.push(
        `timers left by faults that end at a limit: ${this.#world.pendingTimers().join('; ')}`,
      );
  }

  async #fault(standing: WorldState, isAlone: boolean): Promise<void> {
    const verdicts: Verdict[] = [];
    const cells = [true, false].flatMap((stream) =>
      ([1, 3] as const).map((candidates): Cell => ({ standing, stream, candidates })),
    );
    const [first = 0, last = 3] = this.#random() < 0.5 ? [0, 3] : [1, 2];
    const selected = this.#options.brief
      ? cells.filter((_, at) => at === first || at === last)
      : this.#shuffled(cells);
    for (const cell of selected) {
      let verdict = await this.#cell(cell, isAlone, 1);
      for (let attempt = 2; attempt <= maxAttempts && isLate(verdict); attempt += 1) {
        this.#retried += 1;
        verdict = await this.#cell(cell, isAlone, attempt);
      }
      verdicts.push(verdict);
    }
    const after = await probe(this.#world, standing);
    if (after !== null) verdicts.at(-1)?.faults.push(after);
    if (standing.fault.heavy !== true) await auditLedger(this.#world, standing, verdicts);
    this.#verdicts.push(...verdicts);
  }

  async #cell(cell: Cell, isAlone: boolean, attempt: number): Promise<Verdict> {
    const verdict = await runCell(this.#world, cell, this.#options.marginMs, attempt);
    if (isAlone && !(await this.#timersEnd()))
      verdict.faults.push(`timers left: ${this.#world.pendingTimers().join('; ')}`);
    // The ledger decides whether it is repeated.
    if (cell.standing.fault.heavy === true) await auditLedger(this.#world, cell.standing, [verdict]);
    return verdict;
  }

  #timersEnd(): Promise<boolean> {
    return isAtRest(() => this.#world.pendingTimers().length === 0, 2_000 * this.#options.scale);
  }

  /** What must hold of all upstreams at the end. */
  #look(): void {
    const { standing, good, trap, secretOf, naru } = this.#world;
    if (trap.connections > 0)
      this.#faults.push(`${trap.connections} connections to the target of a redirect`);
    const sites = [
      ...standing.map(({ site, models, fault }) => ({
        site,
        name: fault.name,
        places: ['a', 'b'].map((letter) => `${letter}${models.one.split('/')[1]}`),
      })),
      { site: good, name: 'good', places: ['good'] },
    ];
    for (const { site, name, places } of sites) {
      const leaks = leaksIn(site.received, new Set(places.map(secretOf)));
      if (leaks.length > 0) this.#faults.push(`${name} was sent ${leaks.join(', ')}`);
    }
    const attempts = naru.logged.filter((line) => line['event'] === 'attempt_failed');
    const ids = new Set(
      naru.logged.filter((line) => line['event'] === 'request').map((line) => line['request_id']),
    );
    const strays = attempts.filter((line) => !ids.has(line['request_id']));
    if (strays.length > 0)
      this.#faults.push(
        `${strays.length} of ${attempts.length} failed attempts are logged without their request's id`,
      );
    const internal = naru.logged.filter((line) => line['event'] === 'internal_error');
    if (internal.length > 0)
      this.#faults.push(
        `${internal.length} internal errors, such as ${JSON.stringify(internal[0]).slice(0, 500)}`,
      );
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    const mixed = [...items];
    for (let at = mixed.length - 1; at > 0; at -= 1) {
      const other = between(this.#random, 0, at);
      [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
    }
    return mixed;
  }
}

function countResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
