import { join } from 'node:path';
import type { SlotSettings } from '../config/config.ts';
import { configOf, driversOf, engineKey, type Machine } from './build-slot.ts';
import type { EngineNews, SlotGrant, SlotStatus, Slots, SlotsSettings } from './contract.ts';
import { portPicker } from './drivers/launch.ts';
import { SlotEventLoop } from './event-loop.ts';
import { SlotExecutor } from './executor.ts';
import { findGpuMemory, type GpuMemory } from './gpu-memory.ts';
import { readHistory, writeHistory } from './history.ts';
import { observedWait, silentObserver } from './observer.ts';
import { foldersWithRecords, stopLeftovers } from './running.ts';
import type { SlotConfig, SlotEvent } from './scheduler/state.ts';
import { exceedsBudget } from './scheduler/vram.ts';

export type { SlotGrant, SlotLease, Slots, SlotsSettings } from './contract.ts';

/** The parts of the slots. */
export interface SlotsOptions extends Machine {
  readonly settings: SlotsSettings;
  /** The program that reports GPU memory; `nvidia-smi` unless given. */
  readonly nvidiaSmi?: string;
}

/**
 * The slots of `settings`, after leftovers of an earlier Naru on the same `dataDir` were stopped.
 * Throws when a Naru that is still alive runs engines from this `dataDir`, for a name that is not a
 * valid folder name, and for a slot that exceeds every GPU budget.
 */
export async function createSlots(options: SlotsOptions): Promise<Slots> {
  const { dataDir, processes, clock, log } = options;
  for (const dir of foldersWithRecords(join(dataDir, 'slots')))
    await stopLeftovers(dir, processes, clock, log);
  const slots = new LocalSlots(options);
  const commit = await slots.prepare(options.settings);
  commit();
  return slots;
}

/** A slot with its name. */
interface Named {
  readonly id: number;
  readonly executor: SlotExecutor;
  readonly key: string;
}

/** One that is not part of the fleet yet. */
interface Made extends Named {
  readonly enter: (after: number | null) => void;
}

/** Longer than any process serves. */
const pinnedResidentMs = 10 * 365 * 86_400_000;

/** The key of a retired slot: no settings equal it. */
const retired = '';

class LocalSlots implements Slots {
  readonly #options: SlotsOptions & Required<Pick<SlotsOptions, 'pickPort'>>;
  readonly #eventLoop: SlotEventLoop;
  /**
   * In the order of the configuration; removed ones stay at the end until nothing of them is left.
   */
  #named = new Map<string, Named>();
  /** Every slot of which something is left, including unnamed ones. */
  readonly #executor = new Map<number, SlotExecutor>();
  readonly #goneNames = new Set<string>();
  readonly #pinned = new Set<string>();
  readonly #listeners = new Set<(news: EngineNews) => void>();
  #settings: SlotsSettings;
  #configured: readonly string[] = [];
  #lastId = 0;
  /** Undefined: not checked yet. */
  #memory: GpuMemory | null | undefined;

  constructor(options: SlotsOptions) {
    this.#options = { pickPort: portPicker(), ...options };
    this.#settings = options.settings;
    this.#eventLoop = new SlotEventLoop(options.clock, (id) => this.#out(id));
  }

  async acquire(
    name: string,
    request: { readonly accountId: number; readonly signal: AbortSignal; readonly coldWaitMs?: number },
  ): Promise<SlotGrant> {
    // A request planned before the slot was removed: another candidate may serve it, or the client
    // retries.
    if (!this.#named.has(name) && this.#goneNames.has(name)) return { kind: 'loading', retryAfterSec: 1 };
    const { accountId, signal, coldWaitMs = this.#settings.coldWaitMs } = request;
    const { observer = silentObserver, clock } = this.#options;
    return observedWait({ slot: name, observer, clock }, () =>
      this.#find(name).executor.acquire(accountId, coldWaitMs, signal),
    );
  }

  watch(listener: (news: EngineNews) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  status(name: string): SlotStatus {
    const status = this.#find(name).executor.status();
    if (status === null) throw new Error(`no slot ${name}`);
    return { ...status, isPinned: this.#pinned.has(name) };
  }

  statuses(): readonly SlotStatus[] {
    return this.#configured.map((name) => this.status(name));
  }

  start(name: string): void {
    this.#eventLoop.dispatch({ slot: this.#find(name).id, kind: 'start' });
  }

  async stop(name: string, drainMs = 30_000): Promise<void> {
    await this.#find(name).executor.stop(drainMs);
  }

  pin(name: string, isPinned: boolean): void {
    const { id } = this.#find(name);
    if (isPinned) this.#pinned.add(name);
    else this.#pinned.delete(name);
    const settings = this.#settings.slots.find((slot) => slot.name === name);
    if (settings === undefined) return;
    this.#eventLoop.dispatch({ kind: 'configure', slot: id, config: this.#configOf(settings) });
    if (isPinned) this.start(name);
  }

  async usedGpuMb(gpu: string): Promise<number | null> {
    return (await this.#memory?.used([gpu])) ?? null;
  }

  async prepare(settings: SlotsSettings): Promise<() => void> {
    await this.#check(settings);
    const made = new Map<string, Made>();
    for (const slot of settings.slots) {
      if (this.#named.get(slot.name)?.key === engineKey(slot)) continue;
      const named = await this.#make(slot);
      made.set(slot.name, named);
      if (this.#named.has(slot.name)) continue;
      named.enter(null);
      this.#named.set(slot.name, named);
    }
    return () => this.#commit(settings, made);
  }

  async close(): Promise<void> {
    for (const executor of this.#executor.values()) executor.leave();
    await Promise.all([...this.#executor.values()].map((executor) => executor.close()));
    this.#eventLoop.close();
  }

  /**
   * Rejects impossible settings; looks for GPUs when these are the first settings that need them.
   */
  async #check({ slots, gpus }: SlotsSettings): Promise<void> {
    for (const slot of slots) {
      const { name } = slot;
      if (!/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name)) throw new Error(`${name} cannot name a slot`);
      const gpu = exceedsBudget(configOf(slot, this.#options, null), gpus);
      if (gpu !== null) throw new Error(`slot ${name} needs more memory than slots may use on GPU ${gpu}`);
    }
    if (this.#memory === undefined && slots.some(({ vramMb }) => vramMb > 0))
      this.#memory = await findGpuMemory(this.#options.nvidiaSmi ?? 'nvidia-smi');
  }

  async #make(settings: SlotSettings): Promise<Made> {
    const { clock, log, dataDir } = this.#options;
    const { name } = settings;
    this.#lastId += 1;
    const id = this.#lastId;
    const dir = join(dataDir, 'slots', name);
    const memory = this.#memory ?? null;
    const history = await readHistory(dir);
    const executor = new SlotExecutor({
      name,
      kind: settings.driver.kind,
      model: settings.model,
      drivers: driversOf(settings, dir, this.#options, memory),
      clock,
      log,
      storeHistory: (starts) => writeHistory(dir, starts),
      dispatch: (event: SlotEvent) => this.#eventLoop.dispatch({ slot: id, ...event }),
      state: () => this.#eventLoop.member(id)?.state ?? null,
      observer: this.#options.observer ?? silentObserver,
      onNews: (isReady) => {
        for (const listener of this.#listeners) listener({ slot: name, isReady });
      },
    });
    const enter = (after: number | null): void => {
      this.#executor.set(id, executor);
      this.#eventLoop.join(id, executor, {
        config: this.#configOf(settings),
        history,
        after,
      });
      void executor.adopt();
    };
    return { id, executor, key: engineKey(settings), enter };
  }

  #commit(settings: SlotsSettings, made: ReadonlyMap<string, Made>): void {
    const { slots, gpus, drainMs } = settings;
    const before = this.#named;
    const next = new Map<string, Named>();
    this.#eventLoop.dispatch({ kind: 'budgets', budgets: gpus });
    for (const slot of slots) {
      const { name } = slot;
      const was = before.get(name);
      const fresh = made.get(name);
      if (was?.key === engineKey(slot)) {
        this.#eventLoop.dispatch({ kind: 'configure', slot: was.id, config: this.#configOf(slot) });
        next.set(name, was);
      } else if (fresh !== undefined) {
        if (was !== undefined) this.#eventLoop.dispatch({ kind: 'retire', slot: was.id, drainMs });
        fresh.enter(was?.id ?? null);
        next.set(name, fresh);
      } else throw new Error(`slot ${name} was not prepared`);
      this.#goneNames.delete(name);
    }
    for (const [name, was] of before) {
      if (next.has(name)) continue;
      this.#eventLoop.dispatch({ kind: 'retire', slot: was.id, drainMs });
      this.#goneNames.add(name);
      this.#pinned.delete(name);
      if (this.#executor.has(was.id)) next.set(name, { ...was, key: retired });
    }
    this.#named = next;
    this.#configured = slots.map(({ name }) => name);
    this.#settings = settings;
  }

  #configOf(settings: SlotSettings): SlotConfig {
    const config = configOf(settings, this.#options, this.#memory ?? null);
    return this.#pinned.has(settings.name)
      ? { ...config, idleStopMs: 0, minResidentMs: pinnedResidentMs }
      : config;
  }

  #out(id: number): void {
    this.#executor.delete(id);
    for (const [name, named] of this.#named) if (named.id === id) this.#named.delete(name);
  }

  #find(name: string): Named {
    const named = this.#named.get(name);
    if (named === undefined) throw new Error(`no slot ${name}`);
    return named;
  }
}
