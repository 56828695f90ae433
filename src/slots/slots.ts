import { join } from 'node:path';
import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { Slots } from './contract.ts';
import { externalDriver } from './driver-external.ts';
import { scaledDriver } from './driver-k8s.ts';
import { processDriver } from './driver-process.ts';
import { readHistory, writeHistory } from './history.ts';
import { pickFreePort } from './launch.ts';
import { observedDriver, observedWait, type SlotObserver, silentObserver } from './observer.ts';
import type { Processes } from './processes.ts';
import { sweepLeftovers } from './running.ts';
import type { SlotSettings } from './settings.ts';
import { Slot } from './slot.ts';

export type { SlotLease, SlotLoading, Slots } from './contract.ts';
export type { KubeTarget, SlotSettings } from './settings.ts';

/** What the slots are made of. */
export interface SlotsOptions {
  readonly settings: readonly SlotSettings[];
  readonly clock: Clock;
  readonly log: Log;
  /** Logs, start history and the record of running engines live under `<dataDir>/slots/<name>/`. */
  readonly dataDir: string;
  /** How long a request waits for a start, unless it says otherwise. */
  readonly coldWaitMs: number;
  readonly processes: Processes;
  /** A free port for the next start; the machine's own choice unless given. */
  readonly pickPort?: () => Promise<number>;
  /** Hears of starts and waits; nobody does unless given. */
  readonly observer?: SlotObserver;
  /** From SIGTERM to SIGKILL; 5 s unless given. */
  readonly graceMs?: number;
}

/**
 * The slots of `settings`, after leftovers of an earlier Naru on the same `dataDir` were swept away. Throws when a Naru that is
 * still alive runs engines from this `dataDir`, and on a name that cannot name a folder.
 */
export async function createSlots(options: SlotsOptions): Promise<Slots> {
  const slots = new Map<string, Slot>();
  const { observer = silentObserver } = options;
  const leave: (() => void)[] = [];
  for (const settings of options.settings)
    slots.set(settings.name, await createSlot(settings, options, leave));
  const find = (name: string): Slot => {
    const slot = slots.get(name);
    if (slot === undefined) throw new Error(`no slot ${name}`);
    return slot;
  };
  return {
    acquire: async (name, { accountId, signal, coldWaitMs = options.coldWaitMs }) =>
      observedWait({ slot: name, observer, clock: options.clock }, () =>
        find(name).acquire(accountId, coldWaitMs, signal),
      ),
    status: (name) => find(name).status(),
    statuses: () => [...slots.values()].map((slot) => slot.status()),
    start: (name) => find(name).happen({ kind: 'start' }),
    stop: async (name, drainMs = 30_000) => find(name).stop(drainMs),
    async close() {
      for (const each of leave) each();
      await Promise.all([...slots.values()].map((slot) => slot.close()));
    },
  };
}

/** `leave` takes what lets go of engines that outlive Naru. */
async function createSlot(
  settings: SlotSettings,
  options: SlotsOptions,
  leave: (() => void)[],
): Promise<Slot> {
  const { name, driver: by } = settings;
  const { clock, log, processes } = options;
  if (!/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name)) throw new Error(`${name} cannot name a slot`);
  const dir = join(options.dataDir, 'slots', name);
  await sweepLeftovers(dir, processes, clock, log);
  const pickPort = options.pickPort ?? pickFreePort;
  const scaled = by.kind === 'k8s-scale' ? scaledDriver({ settings, driver: by, clock, log }) : null;
  const driver =
    by.kind === 'process'
      ? processDriver({ settings, driver: by, dir, processes, pickPort, clock, log })
      : (scaled ?? externalDriver(settings, by.baseUrl, by.healthPath, clock));
  const { observer = silentObserver } = options;
  const { maxConcurrency, startBudgetMs, idleStopMs } = settings;
  const external = by.kind !== 'process';
  const config = { external, maxConcurrency, startBudgetMs, idleStopMs, graceMs: options.graceMs ?? 5000 };
  const history = await readHistory(dir);
  const remember = (starts: readonly number[]): Promise<void> => writeHistory(dir, starts);
  const slot = new Slot({
    name,
    kind: by.kind,
    model: settings.model,
    config,
    history,
    driver: observedDriver(driver, { slot: name, startBudgetMs, observer, clock }),
    clock,
    log,
    remember,
  });
  if (scaled !== null) leave.push(() => scaled.leave());
  // Whatever an earlier Naru left running is used, and stopped when it is idle.
  void scaled?.isUp().then((isUp) => isUp && slot.happen({ kind: 'start' }));
  return slot;
}
