import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import type { SlotDriver, SlotSettings } from '../../config/config.ts';
import { describeError, type Log } from '../../log/log.ts';
import { type Clock, isoOf, within } from '../../time/clock.ts';
import { type EngineLog, openEngineLog, pruneEngineLogs } from '../engine-log.ts';
import { type GpuMemory, memoryIsBack } from '../gpu-memory.ts';
import { forgetRunning, recordRunning } from '../running.ts';
import type { ProbeResult } from '../scheduler/state.ts';
import type { Driver, Run, RunReport } from './driver.ts';
import { type EngineAccess, otherModel, postToEngine, statusOf } from './health.ts';
import { isFree, launchScript, withPort } from './launch.ts';
import type { Processes } from './processes.ts';
import { watchGroupEnd } from './watch-group.ts';

/** The settings of a local engine. */
export interface ProcessDriverOptions {
  readonly settings: SlotSettings;
  readonly driver: SlotDriver & { readonly kind: 'process' };
  /** The slot's own folder. */
  readonly dir: string;
  readonly processes: Processes;
  readonly pickPort: () => Promise<number>;
  /** The GPUs of this engine; with several replicas not all of the slot's. */
  readonly gpus: readonly string[];
  /** Null where GPU memory cannot be read. */
  readonly gpuMemory: GpuMemory | null;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs the slot's command on this machine, each start in a process group and on a port of its own
 * (design.md, D).
 */
export function processDriver(options: ProcessDriverOptions): Driver {
  return {
    start(report) {
      const run = new EngineRun(options, report);
      void run.launch();
      return run;
    },
  };
}

class EngineRun implements Run {
  readonly #options: ProcessDriverOptions;
  readonly #report: (report: RunReport) => void;
  readonly #log: EngineLog;
  #child: ChildProcess | null = null;
  #port = 0;
  #guardPid: number | null = null;
  #leaderEnded = false;
  #stopping: 'no' | 'terminating' | 'forced' = 'no';
  #launched = false;
  /** MiB that others used of its GPUs before it started. */
  #usedBeforeMb: number | null = null;
  /** Whether it was ready once. */
  #hasServed = false;
  #isVerified = false;

  constructor(options: ProcessDriverOptions, report: (report: RunReport) => void) {
    const { settings, dir, clock, log } = options;
    this.#options = options;
    this.#report = report;
    const name = `${isoOf(clock.now()).replaceAll(':', '-')}.log`;
    this.#log = openEngineLog(join(dir, name), (thrown) =>
      log.error('slot.log_failed', { slot: settings.name, error: describeError(thrown) }),
    );
  }

  async launch(): Promise<void> {
    try {
      const { gpuMemory, gpus } = this.#options;
      if (gpuMemory !== null && gpus.length > 0) this.#usedBeforeMb = await gpuMemory.used(gpus);
      this.#port = await this.#options.pickPort();
      if (this.#stopping === 'no') this.#spawn();
    } catch (thrown) {
      this.#exited(describeError(thrown));
    }
    this.#launched = true;
    if (this.#stopping !== 'no') this.#end();
  }

  async probe(): Promise<ProbeResult> {
    const { settings } = this.#options;
    if (this.#child === null || this.#leaderEnded) return 'waiting';
    const status = await statusOf(`${this.#root()}${settings.readyPath}`, this.#access());
    if (status !== 200) return 'waiting';
    this.#hasServed = true;
    if (settings.model === null || this.#isVerified) return 'ready';
    const other = await otherModel(this.#baseUrl(), settings.model, this.#access());
    if (other !== null) return { wrong: `the engine serves ${other}, not ${settings.model}` };
    this.#isVerified = true;
    return 'ready';
  }

  async warmUp(): Promise<void> {
    const { settings } = this.#options;
    const messages = [{ role: 'user', content: 'Hello' }];
    const body = { model: settings.model ?? 'default', messages, max_tokens: 1 };
    await postToEngine(`${this.#baseUrl()}/chat/completions`, body, settings.warmUpMs, this.#access());
  }

  sleep(): Promise<boolean> {
    return this.#reported(this.#options.settings.sleep?.sleepPath);
  }

  wake(): Promise<boolean> {
    return this.#reported(this.#options.settings.sleep?.wakePath);
  }

  async reclaimed(): Promise<void> {
    const { gpuMemory, gpus, clock } = this.#options;
    if (gpuMemory === null || this.#usedBeforeMb === null) return;
    await memoryIsBack(gpuMemory, gpus, this.#usedBeforeMb, clock);
  }

  async #reported(path: string | undefined): Promise<boolean> {
    if (path === undefined) return false;
    const { startBudgetMs } = this.#options.settings;
    const status = await postToEngine(`${this.#root()}${path}`, null, startBudgetMs, this.#access());
    return status !== null && status >= 200 && status < 300;
  }

  #access(): EngineAccess {
    return { clock: this.#options.clock, apiKey: this.#options.settings.apiKey };
  }

  #root(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  #baseUrl(): string {
    return `${this.#root()}${this.#options.settings.basePath}`.replace(/(?<!\/)\/+$/, '');
  }

  terminate(): void {
    if (this.#stopping !== 'no') return;
    this.#stopping = 'terminating';
    if (this.#launched) this.#end();
  }

  kill(): void {
    if (this.#stopping === 'forced') return;
    const begun = this.#stopping === 'terminating';
    this.#stopping = 'forced';
    if (this.#launched && !begun) this.#end();
  }

  #spawn(): void {
    const { driver, processes } = this.#options;
    const command = driver.command.map((word) => withPort(word, this.#port));
    const env = Object.fromEntries(Object.entries(driver.env).map(([k, v]) => [k, withPort(v, this.#port)]));
    const child = processes.spawn('/bin/sh', ['-c', launchScript, 'naru-slot', ...command], {
      env,
      cwd: driver.cwd,
    });
    child.on('error', (thrown) => this.#exited(`cannot run in ${driver.cwd}: ${thrown.message}`));
    const { pid } = child;
    if (pid === undefined) return;
    this.#child = child;
    this.#record(pid);
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (chunk: Buffer) => this.#log.write(chunk));
      output?.on('error', () => {});
    }
    child.on('exit', (code, signal) => void this.#leaderExited(code, signal));
    const guard = this.#guardPipe();
    guard?.on('error', () => {});
    guard?.once('data', (chunk: Buffer) => {
      this.#guardPid = Number(chunk.toString('utf8'));
      this.#record(pid);
    });
    const baseUrl = this.#baseUrl();
    child.once('spawn', () => this.#report({ kind: 'spawned', engine: { pid, port: this.#port, baseUrl } }));
  }

  /** A failed write costs only the sweep by the next Naru, not this start. */
  #record(pid: number): void {
    const { dir, log, settings } = this.#options;
    try {
      recordRunning(dir, pid, this.#guardPid);
    } catch (thrown) {
      log.error('slot.record_failed', { slot: settings.name, error: describeError(thrown) });
    }
  }

  async #leaderExited(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    this.#leaderEnded = true;
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    await this.#outputEnded(50);
    const message = this.#log.lastError();
    const isTaken = !this.#hasServed && !(await isFree(this.#port).catch(() => true));
    const taken = isTaken ? ` (its port ${this.#port} is taken)` : '';
    this.#exited(`the engine ${how}${taken}${message === '' ? '' : `: ${message}`}`);
  }

  /**
   * Waits for the last output, which may arrive after the exit. Another process may keep the pipes
   * open forever.
   */
  async #outputEnded(limitMs: number): Promise<void> {
    const outputs = [this.#child?.stdout, this.#child?.stderr].filter(
      (output) => output?.readableEnded === false,
    );
    const ended = outputs.map((output) => new Promise((resolve) => output?.once('end', resolve)));
    await within(this.#options.clock, limitMs, Promise.all(ended), null);
  }

  #exited(reason: string): void {
    this.#report({ kind: 'exited', reason });
  }

  #guardPipe(): Duplex | null {
    const pipe = this.#child?.stdio[3];
    return pipe instanceof Duplex ? pipe : null;
  }

  /** Waits without limit until the group is empty, then reports it. */
  #end(): void {
    void this.#endGroup()
      .catch((thrown) =>
        this.#options.log.error('slot.cleanup_failed', {
          slot: this.#options.settings.name,
          error: describeError(thrown),
        }),
      )
      .then(() => this.#report({ kind: 'gone' }));
  }

  async #endGroup(): Promise<void> {
    const { settings, processes, clock, log, dir } = this.#options;
    const child = this.#child;
    if (child?.pid !== undefined) {
      const pgid = child.pid;
      await watchGroupEnd({
        pgid,
        processes,
        clock,
        guardPid: () => this.#guardPid,
        leaderEnded: () => this.#leaderEnded,
        forced: () => this.#stopping === 'forced',
        releaseGuard: () => this.#guardPipe()?.destroy(),
        onOverdue: () => log.error('slot.group_survives', { slot: settings.name, pgid }),
      });
      await this.#outputEnded(200);
      child.stdout?.destroy();
      child.stderr?.destroy();
      forgetRunning(dir);
    }
    await this.#log.end();
    await pruneEngineLogs(dir);
  }
}
