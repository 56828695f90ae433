import type { SimProcess } from './process.ts';
import type { Machine, Simulation } from './simulation.ts';

/** Every fault and disturbance of a gateway, at an instant that the seed chooses. */
export type FaultKind =
  | 'kill'
  | 'power'
  | 'stop'
  | 'cut'
  | 'silence'
  | 'server'
  | 'clock'
  | 'reload'
  | 'bad disk'
  | 'cornered'
  | 'slow disk'
  | 'slow network'
  | 'at commit'
  | 'at sync';

const hourMs = 3_600_000;

/** At which of its commits, and before or after it, a process dies. */
interface AtCommit {
  readonly side: Side;
  /** Any commit at all, or the next that settles something. */
  readonly of: 'anything' | 'settlements';
}

type Side = 'before' | 'after';

/** Injects faults. */
export class Faults {
  readonly #simulation: Simulation;
  /** Processes that die at their next commit or sync, and on which side of it. */
  readonly #atCommit = new Map<SimProcess, AtCommit>();
  readonly #atSync = new Map<SimProcess, Side>();
  /** Processes that are cornered at their next sync, when what it was to make safe is written. */
  readonly #cornerAtSync = new Set<SimProcess>();
  /**
   * The one point, of all before and after every commit and sync, at which the process that reaches
   * it dies; null: none.
   */
  readonly #dieAt: number | null;
  #points = 0;

  constructor(simulation: Simulation, dieAt: number | null) {
    this.#simulation = simulation;
    this.#dieAt = dieAt;
  }

  /**
   * How many points there were so far at which a process could die: two for each commit and each
   * sync.
   */
  get points(): number {
    return this.#points;
  }

  begin(): void {
    const { timeline, random, plan } = this.#simulation;
    if (plan.faults.length === 0) return;
    const next = (): void => {
      timeline.after(random.int(...plan.faultEveryMs), () => {
        if (this.#simulation.isEnding) return;
        this.#inject(random.pick(plan.faults), random.pick(this.#simulation.machines));
        next();
      });
    };
    next();
  }

  /** No fault is active any more, and none will be. */
  heal(): void {
    const { machines, server } = this.#simulation;
    this.#atCommit.clear();
    this.#atSync.clear();
    this.#cornerAtSync.clear();
    server.downUntilMs = 0;
    for (const { link, disk } of machines) {
      // Messages of a silence arrive when it was to end.
      link.calmSinceMs = Math.max(this.#simulation.timeline.nowMs, link.silentUntilMs);
      link.cutUntilMs = 0;
      link.silentUntilMs = 0;
      link.slowMs = 2;
      disk.failingUntilMs = Math.min(disk.failingUntilMs, this.#simulation.timeline.nowMs);
      disk.syncMs = 1;
    }
  }

  /** `isWorth`: the transaction changes something. */
  fateOfCommit(
    process: SimProcess,
    batch: readonly string[],
    isWorth: boolean,
  ): 'delivered' | 'lost' | 'unanswered' {
    const { random, journey, isEnding, plan } = this.#simulation;
    if (isEnding || !process.isAlive || !isWorth) return 'delivered';
    const point = this.#atCommit.get(process);
    const isNow = point !== undefined && (point.of === 'anything' || batch.length > 0);
    const side = this.#chosen() ?? (isNow ? point.side : null);
    if (side !== null) {
      this.#atCommit.delete(process);
      this.#die(process, side, 'commit');
      return side === 'before' ? 'lost' : 'unanswered';
    }
    if (plan.kind === 'quiet' || plan.kind === 'crowded' || !random.inThousand(15)) return 'delivered';
    const fate = random.pick(['lost', 'unanswered'] as const);
    this.#simulation.note(`a COMMIT of ${process.name} is ${fate}`);
    if (batch.length > 0)
      journey.met(
        fate === 'lost' ? 'a COMMIT was lost before it was done' : 'a COMMIT was done and its response lost',
      );
    return fate;
  }

  onSync(process: SimProcess, when: Side): void {
    if (this.#simulation.isEnding || !process.isAlive) return;
    this.#points += 1;
    const machine = this.#simulation.machines.find((one) => one.process === process);
    if (when === 'before' && machine !== undefined && this.#cornerAtSync.delete(process))
      this.#corner(machine);
    if (this.#points !== this.#dieAt && this.#atSync.get(process) !== when) return;
    this.#atSync.delete(process);
    this.#die(process, when, 'sync');
  }

  /** On which side of this commit the chosen point is. */
  #chosen(): Side | null {
    this.#points += 2;
    if (this.#points - 1 === this.#dieAt) return 'before';
    return this.#points === this.#dieAt ? 'after' : null;
  }

  #die(process: SimProcess, side: Side, of: 'commit' | 'sync'): void {
    const { machines, random, journey } = this.#simulation;
    const machine = machines.find((one) => one.process === process);
    if (machine === undefined) return;
    this.#simulation.note(`${process.name} dies ${side} a ${of}`);
    journey.met(`a process died ${side} a ${of}`);
    this.#simulation.crash(machine, random.pick(['kill', 'power']));
  }

  #inject(kind: FaultKind, machine: Machine): void {
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
        link.calmSinceMs = Math.max(link.calmSinceMs, link.cutUntilMs);
        this.#breakLines(process);
        return;
      case 'silence':
        link.silentUntilMs = untilMs(100, random.pick([1_500, 9_000]));
        link.calmSinceMs = Math.max(link.calmSinceMs, link.silentUntilMs);
        return;
      case 'server':
        server.stop(random.int(50, 3_000));
        for (const one of this.#simulation.machines)
          one.link.calmSinceMs = Math.max(one.link.calmSinceMs, server.downUntilMs);
        return;
      case 'clock':
        this.#jump(machine);
        return;
      case 'reload':
        this.#reload(machine);
        return;
      case 'bad disk':
        disk.failingUntilMs = untilMs(50, 3_000);
        disk.takesWrites = random.inThousand(300);
        return;
      case 'cornered':
        if (random.inThousand(500)) this.#corner(machine);
        else this.#cornerAtSync.add(process);
        return;
      case 'slow disk':
        disk.syncMs = random.pick([1, 20, 300]);
        return;
      case 'slow network':
        link.slowMs = random.pick([2, 2, 30, 200]);
        link.calmSinceMs =
          link.slowMs > 2
            ? Number.POSITIVE_INFINITY
            : Math.max(link.cutUntilMs, link.silentUntilMs, timeline.nowMs);
        return;
      case 'at commit':
        this.#atCommit.set(process, {
          side: random.pick(['before', 'after']),
          of: random.pick(['anything', 'settlements', 'settlements']),
        });
        return;
      case 'at sync':
        this.#atSync.set(process, random.pick(['before', 'after']));
    }
  }

  /**
   * No database for longer than a settlement waits for it, and no disk for as long, for a moment,
   * or until settlements are given up; and then perhaps an end.
   */
  #corner(machine: Machine): void {
    const { random, timeline } = this.#simulation;
    const { link, disk, process } = machine;
    const isLate = random.inThousand(650);
    const awayMs = isLate ? random.int(17_500, 20_000) : random.int(11_000, 16_000);
    link.cutUntilMs = timeline.nowMs + awayMs;
    link.calmSinceMs = Math.max(link.calmSinceMs, link.cutUntilMs);
    const failingMs = isLate ? random.int(10_500, 12_000) : random.pick([awayMs, random.int(50, 2_000)]);
    disk.failingUntilMs = timeline.nowMs + failingMs;
    disk.takesWrites = random.inThousand(700);
    this.#breakLines(process);
    if (random.inThousand(isLate ? 100 : 300)) return;
    timeline.after(isLate ? random.int(16_200, 17_400) : random.int(10_200, 12_500), () => {
      if (machine.process === process && !this.#simulation.isEnding)
        this.#simulation.crash(machine, random.pick(['kill', 'kill', 'power']));
    });
  }

  #jump(machine: Machine): void {
    const { random, journey } = this.#simulation;
    const byMs = random.pick([-1, 1]) * random.int(1, random.pick([5_000, hourMs, 30 * hourMs]));
    machine.time.offsetMs += byMs;
    if (!this.#isBusy(machine)) return;
    journey.met(`a clock jumped ${byMs > 0 ? 'forwards' : 'back'} while a request was in flight`);
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
      this.#simulation.witness.onEnd(machine, 'stop');
      process.die();
      machine.gateway = null;
      timeline.after(random.int(10, 500), () => this.#simulation.boot(machine));
    };
    gateway.close(random.int(0, 500)).then(again, again);
  }

  #reload(machine: Machine): void {
    const { random, configurations } = this.#simulation;
    machine.config = random.pick(configurations);
    // Without the database it keeps the configuration that it has.
    machine.gateway?.reload(machine.config).catch(() => {});
  }

  #isBusy({ number }: Machine): boolean {
    return [...this.#simulation.views.values()].some(
      ({ gateway, end }) => gateway === number && end === 'running',
    );
  }

  #breakLines(process: SimProcess): void {
    for (const session of [...this.#simulation.server.sessions])
      if (session.process === process) session.break();
  }
}
