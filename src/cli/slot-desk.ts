import type { SlotRow } from '../control/slots.ts';
import type { LogLine } from '../slots/read-log.ts';

/** The slots of a data directory, as the operator's commands use them (decisions.md §4). All throw a `CliError` on what he can mend. */
export interface SlotDesk {
  /** The slots of the server that runs; without one, those of the configuration, cold. */
  list(): Promise<readonly SlotRow[]>;
  /** One slot of the server that runs. */
  read(name: string): Promise<SlotRow>;
  /** Starts it now, out of a back-off too; does not wait for the engine. */
  start(name: string): Promise<SlotRow>;
  /** Stops it and waits until nothing of the engine is left; requests in flight get `drainMs` (30 s when null) to end. */
  stop(name: string, drainMs: number | null): Promise<SlotRow>;
  /** What its engine said; a server is not needed. */
  logs(name: string, wish: LogWish): AsyncIterable<LogLine>;
}

/** Which part of the logs. */
export interface LogWish {
  /** Of which start: 1 is the newest; null: the newest, and when following, those that come. */
  readonly start: number | null;
  /** Only so many lines of what is there; null: all. */
  readonly last: number | null;
  /** Whether to wait for what comes. */
  readonly follow: boolean;
}
