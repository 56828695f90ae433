import type { Log } from '../../log/log.ts';
import { type Clock, within } from '../../time/clock.ts';
import { IpcChannel, type WorkerProcess } from './ipc.ts';
import type { WorkerChannel, WorkerStartMessage } from './messages.ts';

/** The parts of a supervisor. */
export interface WorkerSupervisorParts {
  readonly size: number;
  readonly fork: () => WorkerProcess;
  readonly clock: Clock;
}

/** What a supervisor needs to start its workers. */
export interface WorkerStart {
  readonly log: Log;
  /** Creates the start message, for each start of a worker. */
  readonly startMessage: (worker: number) => WorkerStartMessage;
  /** Prepares the channel of a worker that is about to start; returns the cleanup for its end. */
  readonly onWorkerStarted: (channel: WorkerChannel) => () => void;
}

/** What one worker responded. */
export interface OfWorker<T> {
  readonly worker: number;
  readonly response: T;
}

interface Member {
  readonly worker: number;
  readonly channel: WorkerChannel;
  readonly child: WorkerProcess;
  readonly ended: Promise<number | string>;
  servesSinceMs: number | null;
  /** The cleanup for its end. */
  detach: () => void;
  /** It failed to apply a configuration and is draining. */
  isLeaving: boolean;
}

/** An ended worker is replaced at once, one that keeps ending with increasing delays. */
const firstBackOffMs = 250;
const maxBackOffMs = 10_000;
const steadyAfterMs = 30_000;
/** How long a worker may take to report its state. */
const requestTimeoutMs = 1_000;
/** How long a worker may take to apply a configuration: a second is long, so this one hangs. */
const reloadWithinMs = 30_000;
/** How long a worker may take after the drain or its abort: settling has 3 s. */
const endWithinMs = 10_000;

/** The workers of one `naru up`: starts them, replaces those that end, and stops them. */
export class WorkerSupervisor {
  readonly #parts: WorkerSupervisorParts;
  readonly #members = new Map<number, Member>();
  #start: WorkerStart | null = null;
  #stopping = false;
  #restarts = 0;

  /** Forks the workers, which load the program and wait for `serve`. */
  constructor(parts: WorkerSupervisorParts) {
    this.#parts = parts;
    for (let worker = 1; worker <= parts.size; worker += 1) this.#fork(worker);
  }

  /** The number of serving workers. */
  get serving(): number {
    return [...this.#members.values()].filter(({ servesSinceMs }) => servesSinceMs !== null).length;
  }

  /** The number of replaced workers. */
  get restarts(): number {
    return this.#restarts;
  }

  get #given(): WorkerStart {
    if (this.#start === null) throw new Error('the workers are not started');
    return this.#start;
  }

  /**
   * Starts all workers; resolves with their port, rejects when one fails. From then on ended
   * workers are replaced.
   */
  async serve(start: WorkerStart): Promise<number> {
    const members = [...this.#members.values()];
    if (members.length < this.#parts.size) throw new Error('a worker ended before it was started');
    this.#start = start;
    const ports = await Promise.all(members.map((member) => this.#serve(member)));
    for (const member of members) void member.ended.then((how) => this.#replace(member, how, 0));
    return ports[0] ?? 0;
  }

  /** Sends a request to every serving worker; leaves out those that do not respond in time. */
  async requestAll<T>(
    request: (channel: WorkerChannel) => Promise<T>,
    withinMs = requestTimeoutMs,
  ): Promise<readonly OfWorker<T>[]> {
    const pending = [...this.#members.values()]
      .filter(({ servesSinceMs }) => servesSinceMs !== null)
      .sort((a, b) => a.worker - b.worker)
      .map(async ({ worker, channel }): Promise<OfWorker<T> | null> => {
        const reply = request(channel).then((response) => ({ worker, response }));
        return within(
          this.#parts.clock,
          withinMs,
          reply.catch(() => null),
          null,
        );
      });
    return (await Promise.all(pending)).filter((reply) => reply !== null);
  }

  /** Sends a request to one serving worker, without a limit of time; null when none serves. */
  async requestFirst<T>(request: (channel: WorkerChannel) => Promise<T>): Promise<T | null> {
    const first = [...this.#members.values()].find(({ servesSinceMs }) => servesSinceMs !== null);
    return first === undefined ? null : request(first.channel);
  }

  /**
   * Applies another configuration in every worker. The first worker goes first: if it rejects,
   * nothing changes. Then `taken` is called; a worker that fails afterwards is drained, and its
   * successor starts with the new configuration.
   */
  async reload(packed: string, taken: () => void): Promise<void> {
    const serving = (): readonly Member[] =>
      [...this.#members.values()].filter((member) => member.servesSinceMs !== null && !member.isLeaving);
    const [first] = serving();
    if (first === undefined) throw new Error('no worker is serving; nothing was changed');
    await this.#take(first, packed);
    taken();
    // A worker that serves only now started with the old configuration; one that serves later
    // checks by itself.
    const others = serving().filter((member) => member !== first);
    await Promise.all(others.map((member) => this.#follow(member, packed)));
  }

  /**
   * Drains every worker for at most `drainMs`, or until `abort` does; resolves when all have ended.
   */
  async stop(drainMs: number, abort: AbortSignal): Promise<void> {
    this.#stopping = true;
    const { clock } = this.#parts;
    const kill = (): void => {
      for (const { child } of this.#members.values()) child.kill();
    };
    const timers = [clock.after(drainMs + endWithinMs, kill)];
    const hasty = (): void => {
      for (const { channel } of this.#members.values()) channel.notify('abort');
      timers.push(clock.after(endWithinMs, kill));
    };
    abort.addEventListener('abort', hasty, { once: true });
    for (const { channel, child, servesSinceMs } of this.#members.values()) {
      if (servesSinceMs === null) child.kill();
      else channel.request('stop').catch(() => {});
    }
    if (abort.aborted) hasty();
    while (this.#members.size > 0) await Promise.all([...this.#members.values()].map(({ ended }) => ended));
    for (const timer of timers) timer.cancel();
    abort.removeEventListener('abort', hasty);
  }

  #fork(worker: number): Member {
    const child = this.#parts.fork();
    const channel: WorkerChannel = new IpcChannel(child);
    channel.handle({ flush: () => null });
    const ended = new Promise<number | string>((resolve) => {
      child.onEnd((how) => {
        this.#members.delete(worker);
        channel.end(new Error(`worker ${worker} ended (${how})`));
        member.detach();
        resolve(how);
      });
    });
    const member: Member = {
      worker,
      channel,
      child,
      ended,
      servesSinceMs: null,
      detach: () => {},
      isLeaving: false,
    };
    this.#members.set(worker, member);
    return member;
  }

  async #serve(member: Member): Promise<number> {
    const startMessage = this.#given.startMessage(member.worker);
    member.detach = this.#given.onWorkerStarted(member.channel);
    const { port } = await member.channel.request('serve', startMessage);
    member.servesSinceMs = this.#parts.clock.monotonic();
    const { config } = this.#given.startMessage(member.worker);
    if (config !== startMessage.config) await this.#follow(member, config);
    return port;
  }

  /** Applies the configuration of its siblings in a worker. Never rejects. */
  async #follow(member: Member, packed: string): Promise<void> {
    try {
      await this.#take(member, packed);
    } catch (error) {
      member.isLeaving = true;
      this.#given.log.warn('worker_not_reloaded', { worker_left: member.worker, detail: String(error) });
      member.channel.request('stop').catch(() => {});
    }
  }

  /**
   * Rejects when the worker rejects. A hanging one is ended: it could apply the configuration
   * later, when others have a newer one.
   */
  async #take({ worker, channel, child }: Member, packed: string): Promise<void> {
    const taken = channel.request('reload', packed).then(() => true);
    if (await within(this.#parts.clock, reloadWithinMs, taken, false)) return;
    child.kill();
    throw new Error(`worker ${worker} does not respond and is replaced`);
  }

  /** Starts a successor, which recovers the journal of the ended worker. */
  #replace(member: Member, how: number | string, failures: number): void {
    if (this.#stopping) return;
    const { clock } = this.#parts;
    const { worker, servesSinceMs } = member;
    const wasSteady = servesSinceMs !== null && clock.monotonic() - servesSinceMs >= steadyAfterMs;
    const turn = wasSteady ? 0 : failures;
    const delayMs = turn === 0 ? 0 : Math.min(maxBackOffMs, firstBackOffMs * 2 ** (turn - 1));
    const notified = { ended: worker, pid: member.child.pid, how, again_in_ms: delayMs };
    if (how === 0) this.#given.log.info('worker_ended', notified);
    else this.#given.log.error('worker_ended', notified);
    clock.after(delayMs, () => {
      if (!this.#stopping) void this.#succeed(worker, turn + 1);
    });
  }

  /** Never rejects: a successor that cannot serve ends, and its end is logged. */
  async #succeed(worker: number, failures: number): Promise<void> {
    this.#restarts += 1;
    const member = this.#fork(worker);
    void member.ended.then((how) => this.#replace(member, how, failures));
    try {
      await this.#serve(member);
      this.#given.log.info('worker_replaced', { replaced: worker, pid: member.child.pid });
    } catch {
      // Its end is logged, after its own log lines.
    }
  }
}
