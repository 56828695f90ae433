import type { Log } from '../../log/log.ts';
import { type Clock, within } from '../../time/clock.ts';
import { IpcChannel, type WorkerProcess } from './ipc.ts';
import type { OfWorker } from './merge-metrics.ts';
import type { WorkerStartMessage } from './messages.ts';

/** What a team is made of. */
export interface WorkerSupervisorParts {
  readonly size: number;
  readonly fork: () => WorkerProcess;
  readonly clock: Clock;
  /** What a worker is told to serve with: asked anew for each start. */
  readonly order: (worker: number) => WorkerStartMessage;
  /** Prepares the link of a worker that starts; returns what is done when it has ended. */
  readonly onWorkerStarted: (link: IpcChannel) => () => void;
}

interface Member {
  readonly worker: number;
  readonly link: IpcChannel;
  readonly child: WorkerProcess;
  readonly ended: Promise<number | string>;
  servesSinceMs: number | null;
  /** It could not follow its siblings, and was told to leave: it only ends what it has. */
  isLeaving: boolean;
}

/** A worker that ended is replaced at once, and one that ends again and again less and less often. */
const firstBackOffMs = 250;
const maxBackOffMs = 10_000;
const steadyAfterMs = 30_000;
/** How long a worker may take to say something about itself. */
const askForMs = 1_000;
/** How long a worker may take to follow a configuration: a second is much, so one that takes longer hangs. */
const reloadWithinMs = 30_000;
/** How long a worker may take beyond the drain, or after it was told to hurry: settling has 3 s. */
const endWithinMs = 10_000;

/** The workers of one `naru up`: starts them, replaces those that end, and stops them. */
export class WorkerSupervisor {
  readonly #parts: WorkerSupervisorParts;
  readonly #members = new Map<number, Member>();
  #log: Log | null = null;
  #stopping = false;
  #restarts = 0;

  /** Forks the workers; they load the program and wait for `serve`. */
  constructor(parts: WorkerSupervisorParts) {
    this.#parts = parts;
    for (let worker = 1; worker <= parts.size; worker += 1) this.#fork(worker);
  }

  /** How many workers serve now. */
  get serving(): number {
    return [...this.#members.values()].filter(({ servesSinceMs }) => servesSinceMs !== null).length;
  }

  /** How many workers were replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Has all of them serve; resolves with their port when all do, rejects when one cannot. From then on who ends is replaced. */
  async serve(log: Log): Promise<number> {
    const members = [...this.#members.values()];
    if (members.length < this.#parts.size) throw new Error('a worker ended before it was told to serve');
    const ports = await Promise.all(members.map((member) => this.#serve(member)));
    this.#log = log;
    for (const member of members) void member.ended.then((how) => this.#replace(member, how, 0));
    return ports[0] ?? 0;
  }

  /** Asks every worker that serves; those that do not answer in time are left out. */
  async askAll<T>(kind: string, value: unknown = null, withinMs = askForMs): Promise<readonly OfWorker<T>[]> {
    const asked = [...this.#members.values()]
      .filter(({ servesSinceMs }) => servesSinceMs !== null)
      .sort((a, b) => a.worker - b.worker)
      .map(async ({ worker, link }): Promise<OfWorker<T> | null> => {
        const answer = link.request(kind, value).then((response) => ({ worker, response: response as T }));
        return within(
          this.#parts.clock,
          withinMs,
          answer.catch(() => null),
          null,
        );
      });
    return (await Promise.all(asked)).filter((answer) => answer !== null);
  }

  /**
   * Has every worker take another configuration: the first alone, and when it refuses nothing has changed. `taken` is called then;
   * one that cannot follow is told to leave, and its successor begins with what was taken.
   */
  async reload(packed: string, taken: () => void): Promise<void> {
    const serving = (): readonly Member[] =>
      [...this.#members.values()].filter((member) => member.servesSinceMs !== null && !member.isLeaving);
    const [first] = serving();
    if (first === undefined) throw new Error('no worker serves at the moment; nothing was changed');
    await this.#take(first, packed);
    taken();
    // Whoever serves only now began with what was there before; whoever serves later looks for himself.
    const others = serving().filter((member) => member !== first);
    await Promise.all(others.map((member) => this.#follow(member, packed)));
  }

  /** Lets every worker end its requests, for at most `drainMs`, then or after `hurry` cuts them; resolves when none is left. */
  async stop(drainMs: number, abort: AbortSignal): Promise<void> {
    this.#stopping = true;
    const { clock } = this.#parts;
    const kill = (): void => {
      for (const { child } of this.#members.values()) child.kill();
    };
    const timers = [clock.after(drainMs + endWithinMs, kill)];
    const hasty = (): void => {
      for (const { link } of this.#members.values()) link.notify('hurry');
      timers.push(clock.after(endWithinMs, kill));
    };
    abort.addEventListener('abort', hasty, { once: true });
    for (const { link, child, servesSinceMs } of this.#members.values()) {
      if (servesSinceMs === null) child.kill();
      else link.request('stop').catch(() => {});
    }
    if (abort.aborted) hasty();
    while (this.#members.size > 0) await Promise.all([...this.#members.values()].map(({ ended }) => ended));
    for (const timer of timers) timer.cancel();
    abort.removeEventListener('abort', hasty);
  }

  #fork(worker: number): Member {
    const child = this.#parts.fork();
    const link = new IpcChannel(child);
    const detach = this.#parts.onWorkerStarted(link);
    link.handle({ bye: () => null });
    const ended = new Promise<number | string>((resolve) => {
      child.onEnd((how) => {
        this.#members.delete(worker);
        link.end(new Error(`worker ${worker} ended (${how})`));
        detach();
        resolve(how);
      });
    });
    const member: Member = { worker, link, child, ended, servesSinceMs: null, isLeaving: false };
    this.#members.set(worker, member);
    return member;
  }

  async #serve(member: Member): Promise<number> {
    const order = this.#parts.order(member.worker);
    const { port } = (await member.link.request('serve', order)) as { port: number };
    member.servesSinceMs = this.#parts.clock.monotonic();
    const { config } = this.#parts.order(member.worker);
    if (config !== order.config) await this.#follow(member, config);
    return port;
  }

  /** Has a worker take what its siblings have taken. Never rejects. */
  async #follow(member: Member, packed: string): Promise<void> {
    try {
      await this.#take(member, packed);
    } catch (error) {
      member.isLeaving = true;
      this.#log?.warn('worker_not_reloaded', { worker_left: member.worker, detail: String(error) });
      member.link.request('stop').catch(() => {});
    }
  }

  /** Rejects when the worker refuses. One that hangs is ended: it might take the configuration after all, when others have another. */
  async #take({ worker, link, child }: Member, packed: string): Promise<void> {
    const taken = link.request('reload', packed).then(() => true);
    if (await within(this.#parts.clock, reloadWithinMs, taken, false)) return;
    child.kill();
    throw new Error(`worker ${worker} does not answer and is replaced`);
  }

  /** Starts a successor, which finds the journal of the one that ended. */
  #replace(member: Member, how: number | string, failures: number): void {
    if (this.#stopping) return;
    const { clock } = this.#parts;
    const { worker, servesSinceMs } = member;
    const wasSteady = servesSinceMs !== null && clock.monotonic() - servesSinceMs >= steadyAfterMs;
    const turn = wasSteady ? 0 : failures;
    const delayMs = turn === 0 ? 0 : Math.min(maxBackOffMs, firstBackOffMs * 2 ** (turn - 1));
    const notified = { ended: worker, pid: member.child.pid, how, again_in_ms: delayMs };
    if (how === 0) this.#log?.info('worker_ended', notified);
    else this.#log?.error('worker_ended', notified);
    clock.after(delayMs, () => {
      if (!this.#stopping) void this.#succeed(worker, turn + 1);
    });
  }

  /** Never rejects: a successor that cannot serve ends, and that is what is told. */
  async #succeed(worker: number, failures: number): Promise<void> {
    this.#restarts += 1;
    const member = this.#fork(worker);
    void member.ended.then((how) => this.#replace(member, how, failures));
    try {
      await this.#serve(member);
      this.#log?.info('worker_replaced', { replaced: worker, pid: member.child.pid });
    } catch {
      // Its end is told, with what it logged.
    }
  }
}
