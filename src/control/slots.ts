import type { SlotStatus, Slots } from '../slots/contract.ts';
import type { ControlAnswer } from './serve.ts';

/** A slot as `naru slot --json` prints it and as the control socket tells it. */
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

/** The longest drain that a stop may ask for. */
const maxDrainMs = 24 * 3_600_000;

/**
 * Answers `GET /slots`, `GET /slots/NAME`, `POST /slots/NAME/start` (which does not wait) and `POST /slots/NAME/stop?drain_ms=N`
 * (which does): 200 with one row or all of them, else a status of its own with `{"error"}`.
 */
export async function answerSlots(
  slots: Slots,
  method: string,
  path: readonly string[],
  query: URLSearchParams,
): Promise<ControlAnswer> {
  const [room, name, verb, ...more] = path;
  if (room !== 'slots' || more.length > 0) return refused(404, 'there is nothing of that name');
  const wanted = verb === undefined ? 'GET' : 'POST';
  if (method !== wanted) return refused(405, `that takes ${wanted}`);
  if (name === undefined) return { status: 200, body: slots.statuses().map(rowOf) };
  if (!slots.statuses().some((slot) => slot.name === name)) return refused(404, `there is no slot ${name}`);
  switch (verb) {
    case undefined:
      break;
    case 'start':
      slots.start(name);
      break;
    case 'stop': {
      const drain = query.get('drain_ms');
      const drainMs = drain === null ? undefined : Number(drain);
      if (drainMs !== undefined && !(drainMs >= 0 && drainMs <= maxDrainMs))
        return refused(400, 'drain_ms must be a number of milliseconds, at most a day');
      await slots.stop(name, drainMs);
      break;
    }
    default:
      return refused(404, `a slot cannot ${verb}`);
  }
  return { status: 200, body: rowOf(slots.status(name)) };
}

/** A row as it came over the socket; throws when it is none. */
export function parseRow(value: unknown): SlotRow {
  const row = value as Partial<Record<keyof SlotRow, unknown>> | null;
  const isRow =
    typeof row === 'object' &&
    row !== null &&
    [row.name, row.driver, row.state, row.reason].every((text) => typeof text === 'string') &&
    [row.in_flight, row.queued, row.starts].every((count) => typeof count === 'number');
  if (!isRow) throw new Error('what the server says of its slots cannot be read: is it another version?');
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

function refused(status: number, error: string): ControlAnswer {
  return { status, body: { error } };
}
