import type { SlotDriver, SlotSettings } from '../../config/config.ts';
import type { Log } from '../../log/log.ts';
import { type Clock, pause } from '../../time/clock.ts';
import type { ProbeResult } from '../scheduler/state.ts';
import type { Driver, Run, RunReport } from './driver.ts';
import { statusOf } from './health.ts';
import { KubeScale, type ScaleResult } from './kube-scale.ts';

/** The settings of an engine in a Deployment. */
export interface ScaledDriverOptions {
  readonly settings: SlotSettings;
  readonly driver: SlotDriver & { readonly kind: 'k8s-scale' };
  readonly clock: Clock;
  readonly log: Log;
}

/** A driver whose engines outlive Naru: a new Naru adopts them. */
export interface ScaledDriver extends Required<Driver> {
  /** Whether the engine already runs, because an earlier Naru or someone else scaled it up. */
  isUp(): Promise<boolean>;
  /** Naru exits: every run ends at once, and the Deployment stays as it is. */
  leave(): void;
}

/**
 * Calls of one start that may fail before the start does, and the time after which no more are
 * made.
 */
const startTries = 4;
const startTriesMs = 10_000;
/** How often the scale is read while the engine does not respond. */
const lookEveryMs = 5000;
/** Between polls for terminating pods, and after failed calls, doubling up to a limit. */
const stopLookMs = 500;
const retryMs = 250;
const retryMaxMs = 30_000;

/** Scales a Deployment up for a start and to zero for a stop (design.md, K). */
export function scaledDriver(options: ScaledDriverOptions): ScaledDriver {
  const scale = new KubeScale(options.driver.k8s, options.clock);
  const runs = new Set<ScaledRun>();
  return {
    start(report) {
      const run = new ScaledRun(options, scale, (reported) => {
        if (reported.kind === 'gone') runs.delete(run);
        report(reported);
      });
      runs.add(run);
      return run;
    },
    async isUp() {
      if (!options.driver.k8s.manage) return false;
      const result = await scale.read();
      return result.ok && result.scale.target > 0;
    },
    leave() {
      for (const run of runs) run.leave();
    },
  };
}

class ScaledRun implements Run {
  readonly #options: ScaledDriverOptions;
  readonly #scale: KubeScale;
  readonly #report: (report: RunReport) => void;
  /** Aborts when the run should end: it stops waiting. */
  readonly #ending = new AbortController();
  /** Aborts when Naru exits. */
  readonly #leaving = new AbortController();
  readonly #launched: Promise<void>;
  /** Whether this run may have scaled up the Deployment. */
  #isRaised = false;
  #hasExited = false;
  /** The scale-up call in flight. */
  #raising: Promise<unknown> = Promise.resolve();
  #lookedMs: number;

  constructor(options: ScaledDriverOptions, scale: KubeScale, report: (report: RunReport) => void) {
    this.#options = options;
    this.#scale = scale;
    this.#report = report;
    this.#lookedMs = options.clock.monotonic();
    this.#launched = this.#launch();
  }

  async probe(): Promise<ProbeResult> {
    const { driver, clock, settings } = this.#options;
    const access = { clock, apiKey: settings.apiKey };
    if ((await statusOf(`${driver.baseUrl}${driver.healthPath}`, access)) === 200) return 'ready';
    if (
      driver.k8s.manage &&
      clock.monotonic() - this.#lookedMs >= lookEveryMs &&
      !this.#ending.signal.aborted
    ) {
      // Someone else may have scaled it down, or deleted the Deployment.
      const result = await this.#raise();
      this.#lookedMs = clock.monotonic();
      if (!result.ok && !result.again) this.#exited(result.reason);
    }
    return 'waiting';
  }

  terminate(): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    void this.#end();
  }

  kill(): void {
    // Kubernetes decides how long pods may take to terminate.
    this.terminate();
  }

  leave(): void {
    this.#leaving.abort();
    this.terminate();
  }

  async #launch(): Promise<void> {
    const { driver, settings, clock } = this.#options;
    const beganMs = clock.monotonic();
    // Reports come later than the call that began the run.
    await Promise.resolve();
    const baseUrl = `${driver.baseUrl}${settings.basePath}`.replace(/(?<!\/)\/+$/, '');
    for (let tries = 1; driver.k8s.manage; tries += 1) {
      const result = await this.#raise();
      if (result.ok || this.#ending.signal.aborted) break;
      const isLate = tries === startTries || clock.monotonic() - beganMs >= startTriesMs;
      if (!result.again || isLate) return this.#exited(result.reason);
      await this.#rest(result.afterMs ?? retryMs * 2 ** tries, this.#ending.signal);
    }
    if (!this.#ending.signal.aborted)
      this.#report({ kind: 'spawned', engine: { pid: null, port: null, baseUrl } });
  }

  #raise(): Promise<ScaleResult> {
    const raising = this.#ensure();
    this.#raising = raising;
    return raising;
  }

  /**
   * Makes sure that enough pods are requested; a larger count was set by someone else and stays.
   */
  async #ensure(): Promise<ScaleResult> {
    const { replicas } = this.#options.driver.k8s;
    const now = await this.#scale.read();
    if (now.ok && now.scale.target >= replicas) this.#isRaised = true;
    if (!now.ok || now.scale.target >= replicas || this.#ending.signal.aborted) return now;
    const result = await this.#scale.set(replicas);
    // A call without a response may have taken effect.
    if (result.ok || !result.refused) this.#isRaised = true;
    return result;
  }

  async #end(): Promise<void> {
    const { manage } = this.#options.driver.k8s;
    // A scale-up still in flight would otherwise arrive after the scale-down.
    const lowered = Promise.all([this.#launched, this.#raising]).then(() =>
      manage && this.#isRaised ? this.#lower() : undefined,
    );
    const left = new Promise<void>((resolve) => {
      if (this.#leaving.signal.aborted) resolve();
      else this.#leaving.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([lowered, left]);
    this.#report({ kind: 'gone' });
  }

  /**
   * Scales to zero and waits until the pods are gone, without a limit: an engine that may still run
   * is not reported as gone (design.md, X2).
   */
  async #lower(): Promise<void> {
    const { driver, settings, log } = this.#options;
    let failures = 0;
    let isLow = false;
    while (!this.#leaving.signal.aborted) {
      const result = isLow ? await this.#scale.read() : await this.#scale.set(0);
      if (result.ok) {
        failures = 0;
        // Someone scaled it up again meanwhile and owns it now.
        if (isLow && result.scale.target > 0) return;
        isLow = true;
        if (result.scale.running === 0) return;
        await this.#rest(stopLookMs, this.#leaving.signal);
        continue;
      }
      if (result.missing) return;
      failures += 1;
      const { namespace, deployment } = driver.k8s;
      log.error('slot.scale_failed', {
        slot: settings.name,
        namespace,
        deployment,
        reason: result.reason,
        failures,
      });
      const delayMs = Math.min(retryMaxMs, retryMs * 2 ** Math.min(failures, 10));
      await this.#rest(result.afterMs ?? delayMs, this.#leaving.signal);
    }
  }

  #rest(delayMs: number, signal: AbortSignal): Promise<void> {
    return pause(this.#options.clock, delayMs, signal).catch(() => {});
  }

  #exited(reason: string): void {
    if (this.#hasExited || this.#ending.signal.aborted) return;
    this.#hasExited = true;
    this.#report({ kind: 'exited', reason });
  }
}
