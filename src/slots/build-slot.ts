import { join } from 'node:path';
import type { SlotSettings } from '../config/config.ts';
import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { Driver } from './drivers/driver.ts';
import { externalDriver } from './drivers/external.ts';
import { scaledDriver } from './drivers/kubernetes.ts';
import { processDriver } from './drivers/process.ts';
import type { Processes } from './drivers/processes.ts';
import { type GpuMemory, reclaimLimitMs } from './gpu-memory.ts';
import { observedDriver, type SlotObserver, silentObserver } from './observer.ts';
import type { SlotConfig } from './scheduler/state.ts';

/** What the slots need from their surroundings. */
export interface Machine {
  readonly clock: Clock;
  readonly log: Log;
  /** Logs, start history and the record of running engines live under `<dataDir>/slots/<name>/`. */
  readonly dataDir: string;
  readonly processes: Processes;
  /** Picks a free port for the next start. */
  readonly pickPort?: () => Promise<number>;
  /** From SIGTERM to SIGKILL; 5 s unless given. */
  readonly graceMs?: number;
  /** Receives starts and waits; none unless given. */
  readonly observer?: SlotObserver;
  /** How long the circuit stays open the first time; a minute unless given. */
  readonly circuitMs?: number;
}

/** The GPUs of each replica, dealt out evenly; replicas share GPUs when there are fewer GPUs. */
export function dealOut(gpus: readonly string[], replicas: number): readonly (readonly string[])[] {
  return Array.from({ length: replicas }, (_, at) => {
    if (gpus.length < replicas) return gpus.length === 0 ? [] : [gpus[at % gpus.length] ?? ''];
    return gpus.filter((_gpu, n) => Math.floor((n * replicas) / gpus.length) === at);
  });
}

/** The scheduler's view of a slot's settings. */
export function configOf(settings: SlotSettings, machine: Machine, memory: GpuMemory | null): SlotConfig {
  const { replicas, gpus, sleep, vramMb, maxConcurrency, startBudgetMs, idleStopMs } = settings;
  return {
    external: settings.driver.kind !== 'process',
    replicas: dealOut(gpus, replicas),
    maxConcurrency,
    startBudgetMs,
    idleStopMs,
    graceMs: machine.graceMs ?? 5000,
    vramMb,
    sleepVramMb: sleep === null ? null : Math.min(sleep.vramMb, vramMb),
    minResidentMs: settings.minResidentMs,
    stallMs: settings.stallMs,
    warmUpMs: settings.warmUpMs,
    // The driver enforces the limit; this one covers a driver that does not.
    reclaimMs: memory === null ? 0 : reclaimLimitMs + 5000,
    circuitMs: machine.circuitMs ?? 60_000,
  };
}

/** Identifies an engine's start settings: when any of them changes, another engine is needed. */
export function engineKey({ driver, basePath, model, apiKey, readyPath, ...settings }: SlotSettings): string {
  const { gpus, vramMb, replicas, sleep, warmUpMs } = settings;
  return JSON.stringify([
    driver,
    basePath,
    model,
    apiKey?.reveal(),
    readyPath,
    gpus,
    vramMb,
    replicas,
    sleep,
    warmUpMs,
  ]);
}

/** The driver of each replica. */
export function driversOf(
  settings: SlotSettings,
  dir: string,
  machine: Machine & Required<Pick<Machine, 'pickPort'>>,
  memory: GpuMemory | null,
): readonly Driver[] {
  const { driver: by } = settings;
  const { clock, log, processes, pickPort } = machine;
  const { observer = silentObserver } = machine;
  const observed = { slot: settings.name, startBudgetMs: settings.startBudgetMs, observer, clock };
  const plain = (gpus: readonly string[], at: number): Driver => {
    if (by.kind === 'external') return externalDriver(settings, by.baseUrl, by.healthPath, clock);
    if (by.kind === 'k8s-scale') return scaledDriver({ settings, driver: by, clock, log });
    const gpuMemory = settings.vramMb > 0 ? memory : null;
    const driver = { ...by, env: visibleGpus(by.env, settings.gpus, gpus) };
    const own = at === 0 ? dir : join(dir, `replica-${at + 1}`);
    return processDriver({ settings, driver, dir: own, processes, pickPort, gpus, gpuMemory, clock, log });
  };
  return dealOut(settings.gpus, settings.replicas).map((gpus, at) =>
    observedDriver(plain(gpus, at), observed),
  );
}

/**
 * The environment of one replica: a list of all GPUs of the slot becomes the GPUs of the replica.
 */
function visibleGpus(
  env: Readonly<Record<string, string>>,
  all: readonly string[],
  own: readonly string[],
): Readonly<Record<string, string>> {
  const isAll = all.length > 0 && env['CUDA_VISIBLE_DEVICES'] === all.join(',');
  return isAll ? { ...env, CUDA_VISIBLE_DEVICES: own.join(',') } : env;
}
