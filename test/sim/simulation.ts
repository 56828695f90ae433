import { insertAccount } from '../../src/accounts/accounts-sql.ts';
import { insertKey } from '../../src/accounts/keys-sql.ts';
import type { Config } from '../../src/config/config.ts';
import { isConnectionLoss } from '../../src/store/connection.ts';
import type { Sql } from '../../src/store/sql.ts';
import { Callers } from './callers.ts';
import type { Life } from './claims.ts';
import type { ClientView } from './client-view.ts';
import { Faults } from './faults.ts';
import { startSimGateway } from './gateway.ts';
import { type Goal, Journey, Violation } from './journey.ts';
import { MachineDisk } from './memory-disk.ts';
import { sqlIn } from './model/step.ts';
import { Store } from './model/transactions.ts';
import { Link, SimServer } from './network.ts';
import { Operator } from './operator.ts';
import { crowdOf, type Forgetting, forgettingOf, largeOf, type Plan, planOf, quietPlan } from './plan.ts';
import { SimProcess } from './process.ts';
import { Random } from './random.ts';
import { beginningMs, type MachineTime, Timeline } from './time.ts';
import { Truth } from './truth.ts';
import { simProvider, UpstreamCalls } from './upstreams.ts';
import { Witness } from './witness.ts';
import { configurations, floorWon, keyOf } from './world.ts';

/** A host with a gateway: its processes start and end, the disk and the network stay. */
export interface Machine extends Life {
  readonly number: number;
  readonly home: string;
  readonly time: MachineTime;
  readonly link: Link;
  readonly disk: MachineDisk;
  process: SimProcess;
  /** Its file. */
  config: Config;
  /** It is being stopped, or is stopped, on purpose. */
  stopping: boolean;
}

/** A tenant's key. */
export interface Holder {
  readonly accountId: number;
  readonly keyId: number;
  readonly plaintext: string;
  readonly number: number;
  /** The first instant at which it is no more, epoch milliseconds. */
  readonly expiresAtMs: number | null;
  /** Since when it is revoked or switched off, of virtual time. */
  offMs: number | null;
  isRevoked: boolean;
  limit: bigint | null;
}

/** What became of one seed. */
export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly requests: number;
  readonly complete: number;
  readonly crashes: number;
  readonly checks: number;
  readonly commits: number;
  /**
   * How many points there were at which a process could die: before and after every commit and
   * sync.
   */
  readonly points: number;
  readonly counts: ReadonlyMap<Goal, number>;
  readonly hash: string;
  /** What did not hold, with the last lines before it; null when everything did. */
  readonly violation: { readonly text: string; readonly last: readonly string[] } | null;
}

/** Beyond every seed: these draws are not those of the seed itself. */
const otherSeeds = 2 ** 32;

/** The time limit of the end: all faults end, every gateway settles and stops. */
const endingMs = 120_000;

/** What is to be simulated. */
export interface SimulationOptions {
  readonly steps: number;
  readonly print?: (line: string) => void;
  /**
   * A small world without faults, except that a process dies at this point of all points; null:
   * none does.
   */
  readonly quiet?: { readonly dieAt: number | null };
}

/**
 * Runs one simulation. The same seed and options make the same one, to the last line of its trace.
 */
export async function simulate(seed: number, options: SimulationOptions): Promise<Outcome> {
  const simulation = new Simulation(seed, options);
  const { journey, truth } = simulation;
  let violation: Outcome['violation'] = null;
  const onUnhandled = (error: unknown): void => simulation.fail(error);
  process.on('unhandledRejection', onUnhandled);
  try {
    await simulation.run(options.steps);
  } catch (error) {
    const message = error instanceof Violation ? error.message : String((error as Error).stack ?? error);
    violation = { text: message, last: [...journey.last] };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  simulation.end();
  return {
    seed,
    steps: simulation.steps,
    requests: simulation.views.size,
    complete: [...simulation.views.values()].filter((view) => view.end === 'complete').length,
    crashes: simulation.crashes,
    checks: truth.checks,
    commits: simulation.commits,
    points: simulation.points,
    counts: journey.counts,
    hash: journey.hash,
    violation,
  };
}

/** One database, a few gateways, upstreams and clients on virtual time. */
export class Simulation {
  readonly journey: Journey;
  readonly timeline = new Timeline();
  readonly random: Random;
  readonly truth: Truth;
  readonly server: SimServer;
  readonly machines: Machine[] = [];
  readonly holders: Holder[] = [];
  readonly views = new Map<string, ClientView>();
  readonly calls = new UpstreamCalls();
  readonly plan: Plan;
  readonly forgetting: Forgetting | null;
  /** What draws how large requests are, and how many of a thousand are large. */
  readonly sizes: Random;
  readonly large: number;
  readonly configurations: readonly Config[];
  readonly operator: Operator;
  /** What draws when prices are published, and which. */
  readonly prices: Random;
  readonly #store: Store;
  readonly #faults: Faults;
  readonly witness = new Witness(this);
  steps = 0;
  crashes = 0;
  commits = 0;
  #isEnding = false;
  /** An error of our own code, thrown where nothing could catch it. */
  #failure: unknown = null;

  constructor(seed: number, { print, quiet }: SimulationOptions) {
    this.random = new Random(seed);
    this.plan = quiet === undefined ? planOf(this.random) : quietPlan(this.random);
    this.forgetting = forgettingOf(new Random(otherSeeds + seed));
    this.sizes = new Random(2 * otherSeeds + seed);
    if (this.plan.kind === 'tight')
      this.plan = crowdOf(new Random(3 * otherSeeds + seed), this.plan) ?? this.plan;
    this.large = this.plan.kind === 'tight' ? largeOf(this.sizes) : this.plan.kind === 'crowded' ? 400 : 0;
    this.configurations = configurations(this.plan.ack);
    this.prices = new Random(4 * otherSeeds + seed);
    this.journey = new Journey(print ?? null);
    const { timeline, random, journey } = this;
    this.#store = new Store(() => beginningMs + timeline.nowMs);
    this.truth = new Truth({
      store: this.#store,
      journey,
      timeline,
      lives: () => this.machines,
      views: this.views,
      floor: BigInt(floorWon) * 1_000_000n,
    });
    this.server = new SimServer({
      store: this.#store,
      timeline,
      random,
      watch: {
        fateOfCommit: (...commit) => this.#faults.fateOfCommit(...commit),
        onCommit: (tx, process, batch) =>
          this.guarded(() => {
            this.commits += 1;
            this.truth.onCommit(tx, process, batch);
            this.operator.onCommit(tx, process);
          }),
        onNotified: (process, batch) => this.truth.onNotified(process, batch),
        onRefused: (process, error) =>
          this.guarded(() =>
            this.truth.check(
              ['40P01', '25P02'].includes(error.code) || error.message === 'generation_pkey',
              () => `the store refused ${process.name}: ${error.message}`,
            ),
          ),
      },
    });
    this.#faults = new Faults(this, quiet?.dieAt ?? null);
    this.operator = new Operator(this);
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get points(): number {
    return this.#faults.points;
  }

  note(line: string): void {
    this.journey.note(`${this.timeline.nowMs.toFixed(3)} ${line}`);
  }

  /** The simulation ends after this step, with this. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** What is found inside our code would be swallowed there, as anything thrown is. */
  guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  async run(steps: number): Promise<void> {
    await this.#build();
    this.truth.begin();
    // In a tight world few processes restart, so that some of its gateways join others that already
    // serve.
    const [first, ...others] = this.machines;
    if (first !== undefined) this.boot(first);
    for (const machine of others) {
      const { process } = machine;
      const later = (): void => {
        // It may have died before it began.
        if (machine.process === process && process.isAlive) this.boot(machine);
      };
      if (this.plan.kind === 'tight' && this.random.inThousand(500))
        this.timeline.after(this.random.int(200, 3_000), later);
      else this.boot(machine);
    }
    this.operator.begin();
    this.#faults.begin();
    new Callers(this, this.plan.clientRestsMs).begin(this.plan.clients);
    const many = this.plan.kind === 'crowded' ? 4 * steps : steps;
    for (; this.steps < many; this.steps += 1) await this.#step(Number.POSITIVE_INFINITY);
    await this.#wind();
  }

  /** Whatever the result, nothing continues. */
  end(): void {
    this.#isEnding = true;
    for (const { process } of this.machines) process.die();
  }

  /** Starts a gateway on a machine, and again until it starts. */
  boot(machine: Machine): void {
    const { timeline, random } = this;
    machine.process = new SimProcess(`g${machine.number}`, timeline, machine.time);
    machine.gateway = null;
    machine.stopping = false;
    const { process } = machine;
    this.note(`${process.name} starts`);
    startSimGateway({
      ...machine,
      process,
      server: this.server,
      provider: (slug) =>
        simProvider(slug, { process, timeline, random, calls: this.calls, note: (line) => this.note(line) }),
      forgetting: this.forgetting,
      queue: this.truth.queue,
      onAdmit: (arrival, accounting) => this.guarded(() => this.truth.onAdmit(arrival, accounting)),
      onMemory: (goal) => this.journey.met(goal),
      onLog: (event, fields) => this.guarded(() => this.witness.onLog(event, fields)),
      onSync: (when) => this.#faults.onSync(process, when),
    }).then(
      (gateway) => {
        if (!process.isAlive) return;
        machine.gateway = gateway;
        this.note(`${process.name} serves`);
      },
      (error: unknown) => {
        if (!process.isAlive) return;
        this.note(`${process.name} does not start`);
        // A start may fail without the database or the disk, and for no other reason.
        if (!isConnectionLoss(error) && !/EIO/.test(String(error))) this.#failure = error;
        process.die();
        timeline.after(1_000, () => this.boot(machine));
      },
    );
  }

  /** A gateway dies at its current point; `power`: its host too. It starts again after a while. */
  crash(machine: Machine, how: 'kill' | 'power'): void {
    if (!machine.process.isAlive) return;
    this.crashes += 1;
    this.note(`${machine.process.name} dies: ${how}`);
    this.truth.onDeath(machine);
    this.witness.onEnd(machine, how);
    machine.process.die();
    machine.gateway = null;
    if (how === 'power') machine.disk.losePower();
    if (!this.#isEnding) this.timeline.after(this.random.int(50, 2_500), () => this.boot(machine));
  }

  async #step(untilMs: number): Promise<boolean> {
    const went = await this.timeline.step(untilMs);
    if (this.#failure !== null) throw this.#failure;
    return went;
  }

  async #build(): Promise<void> {
    const { random, plan } = this;
    const tx = this.#store.begin();
    const sql = sqlIn(tx);
    for (let a = 1; a <= plan.accounts; a += 1) {
      const accountId = await insertAccount(sql, {
        name: `account ${a}`,
        email: null,
        createdAtMs: beginningMs,
      });
      for (let k = 0; k < random.int(1, 2); k += 1) await this.addKey(sql, accountId, 0);
    }
    tx.commit();
    for (let number = 1; number <= plan.gateways; number += 1) {
      const time = { offsetMs: random.int(-2_000, 2_000) };
      this.machines.push({
        number,
        home: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
        time,
        link: new Link(),
        disk: new MachineDisk(this.timeline, random),
        process: new SimProcess(`g${number}`, this.timeline, time),
        gateway: null,
        config: this.configurations[0] as Config,
        stopping: false,
      });
    }
  }

  /** Gives an account one more key, with or without a limit, an end, or both. */
  async addKey(sql: Sql, accountId: number, nowMs: number): Promise<Holder> {
    const { random, plan } = this;
    const number = this.holders.length + 1;
    const { plaintext, hash } = keyOf(number);
    const isLimited = random.inThousand(plan.limited);
    const limit = isLimited ? BigInt(random.int(...plan.limitWon)) * 1_000_000n : null;
    const expiresAtMs = random.inThousand(plan.expiring)
      ? beginningMs + Math.floor(nowMs) + random.int(500, 10_000)
      : null;
    const keyId = await insertKey(sql, {
      hash,
      accountId,
      kind: 'inference',
      name: `key ${number}`,
      label: `key ${number}`,
      limitMicro: limit,
      limitReset: random.pick(['never', 'weekly', 'daily'] as const),
      expiresAtMs,
      createdAtMs: beginningMs + Math.floor(nowMs),
    });
    const holder = { accountId, keyId, plaintext, number, expiresAtMs, limit, offMs: null, isRevoked: false };
    this.holders.push(holder);
    return holder;
  }

  /** All faults end, then the world; nothing may be left over. */
  async #wind(): Promise<void> {
    const { timeline, truth, machines } = this;
    this.#isEnding = true;
    this.note('the end begins');
    this.#faults.heal();
    const untilMs = timeline.nowMs + endingMs;
    const closing = this.#closeAll();
    let isOver = false;
    void closing.then(
      () => {
        isOver = true;
      },
      (error: unknown) => {
        this.#failure ??= error;
      },
    );
    while (await this.#step(untilMs)) this.steps += 1;
    truth.check(isOver, () => `not everything has ended: ${this.#unfinished()}`);
    truth.check(this.calls.open === 0, () => `${this.calls.open} calls to upstreams are open`);
    truth.check(
      this.server.sessions.size === 0,
      () => `connections left: ${[...this.server.sessions].map((session) => session.process.name).join(' ')}`,
    );
    for (const { process } of machines)
      truth.check(
        process.clock.pending === 0,
        () => `${process.name} has ${process.clock.pending} timers left`,
      );
    truth.check(this.#store.tables.gateway_node.size === 0, () => 'rows of nodes that were stopped are left');
    truth.atEnd();
  }

  async #closeAll(): Promise<void> {
    const { timeline, machines } = this;
    // Every gateway that is down starts again, and settles what it acknowledged.
    while (machines.some(({ gateway, stopping }) => gateway === null || stopping)) await timeline.pause(50);
    while ([...this.views.values()].some(({ end }) => end === 'running')) await timeline.pause(50);
    await Promise.all(machines.map(({ gateway }) => gateway?.accounting.settlements.drained()));
    for (const { gateway, process } of machines) {
      await gateway?.close(1_000);
      this.note(`${process.name} has stopped`);
    }
  }

  #unfinished(): string {
    const running = [...this.views.values()].filter(({ end }) => end === 'running').map(({ id }) => id);
    const down = this.machines.filter(({ gateway }) => gateway === null).map(({ process }) => process.name);
    return `running ${running.join(' ')}; down ${down.join(' ')}`;
  }
}
