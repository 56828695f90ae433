import type { SlotStatus, Slots } from './contract.ts';

/** What commands do to slots; `by` is the person behind the command. */
export interface ControlledSlots extends Pick<Slots, 'statuses' | 'status'> {
  start(name: string, by: string): void | Promise<void>;
  /** Resolves when the engine is gone. */
  stop(name: string, drainMs: number | undefined, by: string): Promise<void>;
}

import type { ControlResponse } from '../http/control/serve.ts';

/** A slot as `naru slot --json` prints it and the control socket returns it. */
export interface SlotRow {
  readonly name: string;
  readonly driver: string;
  /** A `SlotPhase`; a server of another version may have other ones. */
  readonly state: string;
  readonly reason: string;
  readonly pid: number | null;
  readonly port: number | null;
  readonly in_flight: number;
  readonly queued: number;
  readonly starts: number;
  readonly last_start_ms: number | null;
}

/** The longest drain of a stop. */
const maxDrainMs = 24 * 3_600_000;

/**
 * Handles `GET /slots`, `GET /slots/NAME`, `POST /slots/NAME/start` (does not wait) and
 * `POST /slots/NAME/stop?drain_ms=N` (waits), each with `by=…`: 200 with one row or all of them,
 * otherwise an error status with `{"error"}`.
 */
export async function handleSlots(
  slots: ControlledSlots,
  method: string,
  path: readonly string[],
  query: URLSearchParams,
): Promise<ControlResponse> {
  const [room, name, verb, ...more] = path;
  if (room !== 'slots' || more.length > 0) return refused(404, 'no such path');
  const wanted = verb === undefined ? 'GET' : 'POST';
  if (method !== wanted) return refused(405, `use ${wanted}`);
  if (name === undefined) return { status: 200, body: slots.statuses().map(rowOf) };
  if (!slots.statuses().some((slot) => slot.name === name)) return refused(404, `no slot ${name}`);
  const by = query.get('by') ?? 'naru slot';
  switch (verb) {
    case undefined:
      break;
    case 'start':
      await slots.start(name, by);
      break;
    case 'stop': {
      const drain = query.get('drain_ms');
      const drainMs = drain === null ? undefined : Number(drain);
      if (drainMs !== undefined && !(drainMs >= 0 && drainMs <= maxDrainMs))
        return refused(400, 'drain_ms must be a number of milliseconds from 0 to one day');
      await slots.stop(name, drainMs, by);
      break;
    }
    default:
      return refused(404, `unknown slot command ${verb}`);
  }
  return { status: 200, body: rowOf(slots.status(name)) };
}

/** Parses a row from the socket; throws when it is not one. */
export function parseRow(value: unknown): SlotRow {
  const row = value as Partial<Record<keyof SlotRow, unknown>> | null;
  const isRow =
    typeof row === 'object' &&
    row !== null &&
    [row.name, row.driver, row.state, row.reason].every((text) => typeof text === 'string') &&
    [row.in_flight, row.queued, row.starts].every((count) => typeof count === 'number');
  if (!isRow)
    throw new Error('the server returned an unknown slot format; it may be another version of Naru');
  return row as SlotRow;
}

function rowOf(slot: SlotStatus): SlotRow {
  return {
    name: slot.name,
    driver: slot.driver,
    state: slot.state,
    reason: slot.reason,
    pid: slot.pid,
    port: slot.port,
    in_flight: slot.inFlight,
    queued: slot.queued,
    starts: slot.starts,
    last_start_ms: slot.lastStartMs,
  };
}

function refused(status: number, error: string): ControlResponse {
  return { status, body: { error } };
}
