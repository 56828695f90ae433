import type { SimProcess } from './process.ts';
import type { Machine, Simulation } from './simulation.ts';

/** Everything that goes wrong, or is done to a gateway, at an instant that the seed chooses. */
const kinds = [
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
] as const;
export type FaultKind = (typeof kinds)[number];

const hourMs = 3_600_000;

/** Makes things go wrong. */
export class Faults {
  readonly #simulation: Simulation;
  /** Processes that die at their next commit or sync, and on which side of it. */
  readonly #atCommit = new Map<SimProcess, 'before' | 'after'>();
  readonly #atSync = new Map<SimProcess, 'before' | 'after'>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  begin(): void {
    const { timeline, random } = this.#simulation;
    const next = (): void => {
      timeline.after(random.int(100, 2_000), () => {
        if (this.#simulation.isEnding) return;
        this.#happen(random.pick(kinds), random.pick(this.#simulation.machines));
        next();
      });
    };
    next();
  }

  /** Nothing is wrong any more, and nothing will be. */
  heal(): void {
    const { machines, server } = this.#simulation;
    this.#atCommit.clear();
    this.#atSync.clear();
    server.downUntilMs = 0;
    for (const { link, disk } of machines) {
      link.cutUntilMs = 0;
      link.silentUntilMs = 0;
      link.slowMs = 2;
      disk.failingUntilMs = 0;
      disk.syncMs = 1;
    }
  }

  fateOfCommit(process: SimProcess, batch: readonly string[]): 'answered' | 'lost' | 'unanswered' {
    const { random, journey, isEnding } = this.#simulation;
    if (isEnding || !process.isAlive) return 'answered';
    const point = this.#atCommit.get(process);
    if (point !== undefined && batch.length > 0) {
      this.#atCommit.delete(process);
      this.#die(process, `${point} a commit`);
      return point === 'before' ? 'lost' : 'unanswered';
    }
    if (!random.inThousand(15)) return 'answered';
    const fate = random.pick(['lost', 'unanswered'] as const);
    this.#simulation.note(`a COMMIT of ${process.name} is ${fate}`);
    if (batch.length > 0)
      journey.met(
        fate === 'lost' ? 'a COMMIT was lost before it was done' : 'a COMMIT was done and its answer lost',
      );
    return fate;
  }

  onSync(process: SimProcess, when: 'before' | 'after'): void {
    if (this.#atSync.get(process) !== when) return;
    this.#atSync.delete(process);
    this.#die(process, `${when} a sync`);
  }

  #die(process: SimProcess, where: string): void {
    const { machines, random } = this.#simulation;
    const machine = machines.find((one) => one.process === process);
    this.#simulation.note(`${process.name} dies ${where}`);
    if (machine !== undefined) this.#simulation.crash(machine, random.pick(['kill', 'power']));
  }

  #happen(kind: FaultKind, machine: Machine): void {
    const { random, timeline, server } = this.#simulation;
    const { process, link, disk } = machine;
    const untilMs = (least: number, most: number): number => timeline.nowMs + random.int(least, most);
    this.#simulation.note(`${process.name}: ${kind}`);
    switch (kind) {
      case 'kill':
      case 'power':
        this.#simulation.crash(machine, kind);
        return;
      case 'stop':
        this.#stop(machine);
        return;
      case 'cut':
        link.cutUntilMs = untilMs(100, 4_000);
        this.#breakLines(process);
        return;
      case 'silence':
        link.silentUntilMs = untilMs(100, random.pick([1_500, 9_000]));
        return;
      case 'server':
        server.stop(random.int(50, 3_000));
        return;
      case 'clock':
        machine.time.offsetMs +=
          random.pick([-1, 1]) * random.int(1, random.pick([5_000, hourMs, 30 * hourMs]));
        if (this.#isBusy(machine))
          this.#simulation.journey.met('a clock jumped while a request was under way');
        return;
      case 'reload':
        this.#reload(machine);
        return;
      case 'bad disk':
        disk.failingUntilMs = untilMs(50, 3_000);
        return;
      case 'cornered':
        // Longer than a settlement waits for either of them.
        link.cutUntilMs = untilMs(11_000, 14_000);
        disk.failingUntilMs = link.cutUntilMs;
        this.#breakLines(process);
        return;
      case 'slow disk':
        disk.syncMs = random.pick([1, 20, 300]);
        return;
      case 'slow network':
        link.slowMs = random.pick([2, 2, 30, 200]);
        return;
      case 'at commit':
        this.#atCommit.set(process, random.pick(['before', 'after']));
        return;
      case 'at sync':
        this.#atSync.set(process, random.pick(['before', 'after']));
    }
  }

  #stop(machine: Machine): void {
    const { random, timeline, journey } = this.#simulation;
    const { gateway, process } = machine;
    if (gateway === null || machine.stopping) return;
    machine.stopping = true;
    if (this.#isBusy(machine)) journey.met('a process was stopped in the middle of requests');
    const again = (): void => {
      if (machine.process !== process || !process.isAlive) return;
      this.#simulation.note(`${process.name} has stopped`);
      this.#simulation.truth.onDeath(machine);
      process.die();
      machine.gateway = null;
      timeline.after(random.int(10, 500), () => this.#simulation.boot(machine));
    };
    gateway.close(random.int(0, 500)).then(again, again);
  }

  #reload(machine: Machine): void {
    const { random, editions, journey } = this.#simulation;
    machine.edition = random.pick(editions.all);
    machine.gateway?.reload(machine.edition.config, machine.edition.versionOf);
    if (this.#isBusy(machine)) journey.met('a price changed while a request was under way');
  }

  #isBusy({ number }: Machine): boolean {
    return [...this.#simulation.told.values()].some(
      ({ gateway, end }) => gateway === number && end === 'running',
    );
  }

  #breakLines(process: SimProcess): void {
    for (const session of [...this.#simulation.server.sessions])
      if (session.process === process) session.break();
  }
}
