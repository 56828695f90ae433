import { join } from 'node:path';
import { type CliPaths, readConfig, type Settings, settingsOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { hint } from '../config/nearest.ts';
import { OperatorError } from '../errors/operator-error.ts';
import type { ControlCall } from '../http/control/call.ts';
import { parseRow, type SlotRow } from '../slots/control.ts';
import { readHistory } from '../slots/history.ts';
import { followLog, type LogLine, readLog, startLogs } from '../slots/read-log.ts';
import { systemClock } from '../time/clock.ts';
import { callServer, serverIsAway } from './control-client.ts';

/**
 * The slots of a data directory for the operator's commands (spec:operator/1.9). All throw an
 * `OperatorError` that the operator can act on.
 */
export interface SlotAdmin {
  /** The slots of the running server; without one, those of the configuration, cold. */
  list(): Promise<readonly SlotRow[]>;
  /** One slot of the running server. */
  read(name: string): Promise<SlotRow>;
  /** Starts it now, even during a back-off; does not wait for the engine. */
  start(name: string): Promise<SlotRow>;
  /**
   * Stops it and waits until the engine has ended; requests in flight get `drainMs` (30 s when
   * null) to finish.
   */
  stop(name: string, drainMs: number | null): Promise<SlotRow>;
  /** The output of its engine; works without a running server. */
  logs(name: string, query: LogQuery): AsyncIterable<LogLine>;
}

/** The part of the logs to read. */
export interface LogQuery {
  /** The start: 1 is the newest; null: the newest and, when following, future ones. */
  readonly start: number | null;
  /** The number of last lines; null: all. */
  readonly last: number | null;
  /** Whether to wait for more lines. */
  readonly follow: boolean;
}

/** A healthy server responds far sooner. */
const responseTimeoutMs = 10_000;

/**
 * Opens the slots of a data directory: through the control socket of its server, and from its
 * files.
 */
export function openSlotAdmin(paths: CliPaths, proc: ProcessContext): SlotAdmin {
  const settings = settingsOf(paths, proc);
  const { dataDir } = settings;
  const request = (call: ControlCall): Promise<unknown> => callServer(dataDir, call);
  /** One slot of the server; an unknown name throws an error with a suggestion. */
  const callOne = async (name: string, verb: string, call: Omit<ControlCall, 'path'>): Promise<SlotRow> => {
    const rows = listOf(await request({ method: 'GET', path: '/slots', limitMs: responseTimeoutMs }));
    assertKnown(
      name,
      rows.map((row) => row.name),
    );
    return parseRow(await request({ ...call, path: `/slots/${encodeURIComponent(name)}${verb}` }));
  };
  return {
    async list() {
      try {
        return listOf(await request({ method: 'GET', path: '/slots', limitMs: responseTimeoutMs }));
      } catch (thrown) {
        if (!(await serverIsAway(thrown, dataDir))) throw thrown;
        return coldSlots(settings, proc);
      }
    },
    read: (name) => callOne(name, '', { method: 'GET', limitMs: responseTimeoutMs }),
    start: (name) =>
      callOne(name, `/start?${new URLSearchParams({ by: proc.user })}`, {
        method: 'POST',
        limitMs: responseTimeoutMs,
      }),
    stop: (name, drainMs) => {
      const query = { by: proc.user, ...(drainMs !== null && { drain_ms: String(drainMs) }) };
      return callOne(name, `/stop?${new URLSearchParams(query)}`, { method: 'POST', limitMs: null });
    },
    logs: (name, query) => logsOf(settings, name, query, proc),
  };
}

function listOf(body: unknown): readonly SlotRow[] {
  if (!Array.isArray(body))
    throw new OperatorError('the server returned no list of slots; it may be another version of Naru');
  return body.map(parseRow);
}

function assertKnown(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const none = known.length === 0 ? ': the configuration has no slots' : hint(name, known);
  throw new OperatorError(`no slot ${name}${none}`);
}

/** The slots of the configuration while no server is running. */
async function coldSlots(settings: Settings, proc: ProcessContext): Promise<readonly SlotRow[]> {
  const { slots } = readConfig(settings, proc);
  return Promise.all(
    slots.map(async ({ name, driver }) => ({
      name,
      driver: driver.kind,
      state: 'COLD',
      reason: 'no server is running',
      pid: null,
      port: null,
      in_flight: 0,
      queued: 0,
      starts: 0,
      last_start_ms: (await readHistory(join(settings.dataDir, 'slots', name))).at(-1) ?? null,
    })),
  );
}

async function* logsOf(
  settings: Settings,
  slot: string,
  { start, last, follow }: LogQuery,
  proc: ProcessContext,
): AsyncGenerator<LogLine> {
  const { dataDir } = settings;
  // Only a valid name may become a path. A slot that was removed from the configuration may still
  // have logs.
  const logs = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(slot) ? await startLogs(dataDir, slot) : [];
  const waits = follow && start === null;
  if (logs.length === 0) {
    assertKnown(
      slot,
      readConfig(settings, proc).slots.map(({ name }) => name),
    );
    if (!waits)
      throw new OperatorError(
        `no log for slot ${slot}: the engine was never started on this machine, or produced no output`,
      );
  }
  const log = start === null ? logs[0] : logs[start - 1];
  if (log === undefined && !waits)
    throw new OperatorError(`no log for start ${start}: only the last ${logs.length} starts are kept`);
  if (!follow) return yield* log === undefined ? [] : readLog(log, last);
  const from = { dataDir, slot, log: start === null ? null : (log ?? null) };
  // Following ends when the command is interrupted.
  yield* followLog(from, last, systemClock, new AbortController().signal);
}
