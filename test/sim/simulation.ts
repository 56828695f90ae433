import type { LogFields } from '../../src/log/log.ts';
import { insertAccount } from '../../src/store/accounts.ts';
import { isConnectionLoss } from '../../src/store/connection.ts';
import { insertKey } from '../../src/store/keys.ts';
import type { Sql } from '../../src/store/sql.ts';
import { send } from './client.ts';
import { Faults } from './faults.ts';
import { startSimGateway } from './gateway.ts';
import { type Goal, Journey, Violation } from './journey.ts';
import { MachineDisk } from './memory-disk.ts';
import { execute } from './model/statements.ts';
import { Store, type Transaction } from './model/transactions.ts';
import { Link, SimServer } from './network.ts';
import { Operator } from './operator.ts';
import { SimProcess } from './process.ts';
import { Random } from './random.ts';
import { beginningMs, type MachineTime, Timeline } from './time.ts';
import type { Told } from './told.ts';
import { type Life, Truth } from './truth.ts';
import { simProvider, UpstreamCalls } from './upstreams.ts';
import { type Edition, editions, floorWon, keyOf } from './world.ts';

/** A machine with a gateway on it: lives come and go, the disk and the network stay. */
export interface Machine extends Life {
  readonly number: number;
  readonly home: string;
  readonly time: MachineTime;
  readonly link: Link;
  readonly disk: MachineDisk;
  process: SimProcess;
  edition: Edition;
  /** It is being stopped, or is stopped, on purpose. */
  stopping: boolean;
}

/** A tenant's key. */
export interface Holder {
  readonly accountId: number;
  readonly keyId: number;
  readonly plaintext: string;
  readonly number: number;
  /** When its revocation was committed, of virtual time. */
  revokedMs: number | null;
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
  readonly counts: ReadonlyMap<Goal, number>;
  readonly hash: string;
  /** What did not hold, with the last lines before it; null when all did. */
  readonly violation: { readonly words: string; readonly last: readonly string[] } | null;
}

/** How long a settlement waits for the database when the journal does not take it. */
const settlementPatienceMs = 10_000;
/** How long the end may take: everything heals, every gateway settles and stops. */
const endingMs = 120_000;

/** Runs one simulation. The same seed and steps make the same one, to the last line of its trace. */
export async function simulate(
  seed: number,
  options: { readonly steps: number; readonly print?: (line: string) => void },
): Promise<Outcome> {
  const simulation = new Simulation(seed, options.print ?? null);
  const { journey, truth } = simulation;
  let violation: Outcome['violation'] = null;
  try {
    await simulation.run(options.steps);
  } catch (error) {
    const words = error instanceof Violation ? error.message : String((error as Error).stack ?? error);
    violation = { words, last: [...journey.last] };
  }
  simulation.end();
  return {
    seed,
    steps: simulation.steps,
    requests: simulation.told.size,
    complete: [...simulation.told.values()].filter((told) => told.end === 'complete').length,
    crashes: simulation.crashes,
    checks: truth.checks,
    commits: simulation.commits,
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
  readonly told = new Map<string, Told>();
  readonly editions = editions();
  readonly #calls = new UpstreamCalls();
  readonly #store: Store;
  readonly #faults: Faults;
  readonly #operator: Operator;
  steps = 0;
  crashes = 0;
  commits = 0;
  #isEnding = false;
  /** A failure of our own code, thrown where nobody could catch it. */
  #failure: unknown = null;

  constructor(seed: number, print: ((line: string) => void) | null) {
    this.random = new Random(seed);
    this.journey = new Journey(print);
    const { timeline, random, journey } = this;
    this.#store = new Store(() => beginningMs + timeline.nowMs);
    this.truth = new Truth({
      store: this.#store,
      journey,
      lives: () => this.machines,
      told: this.told,
      rates: this.editions.rates,
      floor: BigInt(floorWon) * 1_000_000n,
    });
    this.server = new SimServer({
      store: this.#store,
      timeline,
      random,
      watch: {
        fateOfCommit: (process, batch) => this.#faults.fateOfCommit(process, batch),
        onCommit: (tx, process, batch) =>
          this.#guarded(() => {
            this.commits += 1;
            this.truth.onCommit(tx, process, batch);
            this.#operator.onCommit(tx, process);
          }),
        onHeard: (process, batch) => this.truth.onHeard(process, batch),
        onRefused: (process, error) =>
          this.#guarded(() =>
            this.truth.hold(
              ['40P01', '25P02'].includes(error.code) || error.message === 'generation_pkey',
              () => `the store refused ${process.name}: ${error.message}`,
            ),
          ),
      },
    });
    this.#faults = new Faults(this);
    this.#operator = new Operator(this);
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  note(line: string): void {
    this.journey.note(`${this.timeline.nowMs.toFixed(3)} ${line}`);
  }

  async run(steps: number): Promise<void> {
    await this.#build();
    for (const machine of this.machines) this.boot(machine);
    this.#operator.begin();
    this.#faults.begin();
    const clients = this.random.int(3, 6);
    for (let n = 0; n < clients; n += 1) this.#client();
    for (; this.steps < steps; this.steps += 1) await this.#step(Number.POSITIVE_INFINITY);
    await this.#wind();
  }

  /** Whatever came of it, nothing goes on. */
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
      config: machine.edition.config,
      server: this.server,
      versionOf: machine.edition.versionOf,
      provider: (slug) =>
        simProvider(slug, { process, timeline, random, calls: this.#calls, note: (line) => this.note(line) }),
      onAdmit: (request) => this.#guarded(() => this.truth.onAdmit(request, beginningMs + timeline.nowMs)),
      onLog: (event, fields) => this.#guarded(() => this.#heed(event, fields)),
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
        // A start may fail for want of the database or the disk, and for nothing else.
        if (!isConnectionLoss(error) && !/EIO/.test(String(error))) this.#failure = error;
        process.die();
        timeline.after(1_000, () => this.boot(machine));
      },
    );
  }

  /** A gateway dies where it stands; `power`: its machine with it. It starts again after a while. */
  crash(machine: Machine, how: 'kill' | 'power'): void {
    if (!machine.process.isAlive) return;
    this.crashes += 1;
    this.note(`${machine.process.name} dies: ${how}`);
    this.truth.onDeath(machine);
    this.#noteUncommitted(machine);
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

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      // What is found inside our code would be swallowed there, as anything thrown is: it ends the simulation after this step.
      this.#failure ??= error;
    }
  }

  async #build(): Promise<void> {
    const { random } = this;
    const tx = this.#store.begin();
    const sql = sqlIn(tx);
    const accounts = random.int(2, 3);
    for (let a = 1; a <= accounts; a += 1) {
      const accountId = await insertAccount(sql, {
        name: `account ${a}`,
        email: null,
        createdAtMs: beginningMs,
      });
      for (let k = 0; k < random.int(1, 2); k += 1) await this.addKey(sql, accountId);
    }
    tx.commit();
    const gateways = random.int(1, 3);
    for (let number = 1; number <= gateways; number += 1) {
      const time = { offsetMs: random.int(-2_000, 2_000) };
      this.machines.push({
        number,
        home: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
        time,
        link: new Link(),
        disk: new MachineDisk(this.timeline, random),
        process: new SimProcess(`g${number}`, this.timeline, time),
        gateway: null,
        edition: this.editions.all[0] as Edition,
        stopping: false,
      });
    }
  }

  /** Gives an account one more key, with or without a limit. */
  async addKey(sql: Sql, accountId: number): Promise<Holder> {
    const number = this.holders.length + 1;
    const { plaintext, hash } = keyOf(number);
    const isLimited = this.random.inThousand(400);
    const keyId = await insertKey(sql, {
      hash,
      accountId,
      kind: 'inference',
      name: `key ${number}`,
      label: `key ${number}`,
      limitMicro: isLimited ? BigInt(this.random.int(100, 600)) * 1_000_000n : null,
      limitReset: this.random.pick(['never', 'never', 'daily'] as const),
      expiresAtMs: null,
      createdAtMs: beginningMs,
    });
    const holder = { accountId, keyId, plaintext, number, revokedMs: null };
    this.holders.push(holder);
    return holder;
  }

  #client(): void {
    const { random, timeline } = this;
    const life = async (): Promise<void> => {
      while (!this.#isEnding) {
        await timeline.pause(random.int(1, random.pick([20, 60, 400])));
        if (!this.#isEnding) await this.#request();
      }
    };
    life().catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  async #request(): Promise<void> {
    const { random, timeline } = this;
    const machine = random.pick(this.machines);
    const holder = random.pick(this.holders);
    const { gateway, process } = machine;
    if (gateway === null || machine.stopping) return;
    const id = `req_${this.told.size + 1}`;
    const told: Told = {
      id,
      accountId: holder.accountId,
      keyId: holder.keyId,
      gateway: machine.number,
      sentMs: timeline.nowMs,
      wasStreamed: random.inThousand(600),
      end: 'running',
      cost: null,
      status: null,
      endedMs: null,
      isUnsaid: false,
    };
    this.told.set(id, told);
    const body = {
      model: random.pick(['sim/in-order', 'sim/weighted']),
      stream: told.wasStreamed,
      max_tokens: random.int(1, 30),
      session_id: id,
      messages: [{ role: 'user', content: 'say something' }],
    };
    this.note(`${id} of key ${holder.number} to ${process.name}${told.wasStreamed ? ', streamed' : ''}`);
    const { errorType } = await send({
      told,
      process,
      gateway,
      timeline,
      key: holder.plaintext,
      body,
      leavesAfterMs: random.inThousand(150) ? random.int(1, 900) : null,
      slowMs: random.inThousand(100) ? random.int(1, 30) : null,
    });
    told.endedMs = timeline.nowMs;
    this.note(`${id} ${told.end}${errorType === null ? '' : ` with ${errorType}`}`);
    this.#operator.onAnswer(told, errorType, holder);
  }

  #heed(event: string, fields: LogFields): void {
    const { journey, truth } = this;
    switch (event) {
      case 'settlement_quarantined':
        truth.hold(false, () => `a settlement was refused for good: ${String(fields['detail'])}`);
        return;
      case 'recovered':
        if (Number(fields['finals']) > 0) journey.met('a replay of the journal settled a row');
        if (Number(fields['orphans']) > 0)
          journey.met('an admitted request without an end was recorded as failed');
        return;
      case 'node_joined_again':
        journey.met('a node was taken for lost and came back');
        return;
      case 'journal':
        if (fields['kind'] === 'torn') journey.met('the power failed and tore the journal');
        if (fields['kind'] === 'damaged') journey.met('the power failed and left a hole in the journal');
        return;
      case 'journal_failed':
        journey.met('a disk refused the journal');
    }
  }

  #noteUncommitted(machine: Machine): void {
    const settled = new Set<string>();
    for (const row of this.#store.tables.generation.values())
      settled.add((JSON.parse(row.detail) as { request_id: string }).request_id);
    for (const told of this.told.values()) {
      if (told.gateway !== machine.number) continue;
      if (told.end === 'failed' && (told.endedMs ?? 0) - told.sentMs >= settlementPatienceMs)
        told.isUnsaid ||= !settled.has(told.id);
      if (told.end === 'complete' && told.cost !== 0n && !settled.has(told.id))
        this.journey.met('a process died after a sync and before its commit');
      if (told.end === 'running' && told.wasStreamed && told.status === 200)
        this.journey.met('a stream was broken by its process');
    }
  }

  /** Everything heals and ends; then nothing may be left. */
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
    truth.hold(isOver, () => `not everything has ended: ${this.#unfinished()}`);
    truth.hold(this.#calls.open === 0, () => `${this.#calls.open} calls to upstreams are open`);
    truth.hold(
      this.server.sessions.size === 0,
      () =>
        `connections are left of ${[...this.server.sessions].map((session) => session.process.name).join(' ')}`,
    );
    for (const { process } of machines)
      truth.hold(
        process.clock.pending === 0,
        () => `${process.name} has ${process.clock.pending} timers left`,
      );
    truth.hold(this.#store.tables.gateway_node.size === 0, () => 'nodes are left that have left');
    truth.atEnd();
  }

  async #closeAll(): Promise<void> {
    const { timeline, machines } = this;
    // Whoever is down starts again, and brings what it had promised into the database.
    while (machines.some(({ gateway, stopping }) => gateway === null || stopping)) await timeline.pause(50);
    while ([...this.told.values()].some(({ end }) => end === 'running')) await timeline.pause(50);
    await Promise.all(machines.map(({ gateway }) => gateway?.books.settlements.drained()));
    for (const { gateway, process } of machines) {
      await gateway?.close(1_000);
      this.note(`${process.name} has stopped`);
    }
  }

  #unfinished(): string {
    const running = [...this.told.values()].filter(({ end }) => end === 'running').map(({ id }) => id);
    const down = this.machines.filter(({ gateway }) => gateway === null).map(({ process }) => process.name);
    return `running ${running.join(' ')}; down ${down.join(' ')}`;
  }
}

function sqlIn(tx: Transaction): Sql {
  return {
    query: async (text: string, values: readonly unknown[] = []) =>
      (await execute(tx, text, values)) as never,
  };
}
