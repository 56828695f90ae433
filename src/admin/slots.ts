import { join } from 'node:path';
import type { CliPaths } from '../app/cli-options.ts';
import { readConfig, type Settings, settingsOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { hint } from '../config/nearest.ts';
import type { ControlCall } from '../control/call.ts';
import { parseRow, type SlotRow } from '../control/slots.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { readHistory } from '../slots/history.ts';
import { followLog, type LogLine, readLog, startLogs } from '../slots/read-log.ts';
import { systemClock } from '../time/clock.ts';
import { askServer, serverIsAway } from './control-client.ts';

/** The slots of a data directory, as the operator's commands use them (spec:operator/1.9). All throw a `OperatorError` on what he can mend. */
export interface SlotAdmin {
  /** The slots of the server that runs; without one, those of the configuration, cold. */
  list(): Promise<readonly SlotRow[]>;
  /** One slot of the server that runs. */
  read(name: string): Promise<SlotRow>;
  /** Starts it now, out of a back-off too; does not wait for the engine. */
  start(name: string): Promise<SlotRow>;
  /** Stops it and waits until nothing of the engine is left; requests in flight get `drainMs` (30 s when null) to end. */
  stop(name: string, drainMs: number | null): Promise<SlotRow>;
  /** What its engine said; a server is not needed. */
  logs(name: string, query: LogQuery): AsyncIterable<LogLine>;
}

/** Which part of the logs. */
export interface LogQuery {
  /** Of which start: 1 is the newest; null: the newest, and when following, those that come. */
  readonly start: number | null;
  /** Only so many lines of what is there; null: all. */
  readonly last: number | null;
  /** Whether to wait for what comes. */
  readonly follow: boolean;
}

/** A server that is alive answers this within its sleep. */
const answerWithinMs = 10_000;

/** The slots of the data directory that the options name: through its server's control socket, and from its files. */
export function openSlotAdmin(places: CliPaths, proc: ProcessContext): SlotAdmin {
  const settings = settingsOf(places, proc);
  const { dataDir } = settings;
  const ask = (call: ControlCall): Promise<unknown> => askServer(dataDir, call);
  /** One slot of the server; a name that it does not know is answered with the ones that it does. */
  const askOne = async (name: string, verb: string, call: Omit<ControlCall, 'path'>): Promise<SlotRow> => {
    const rows = listOf(await ask({ method: 'GET', path: '/slots', limitMs: answerWithinMs }));
    assertKnown(
      name,
      rows.map((row) => row.name),
    );
    return parseRow(await ask({ ...call, path: `/slots/${encodeURIComponent(name)}${verb}` }));
  };
  return {
    async list() {
      try {
        return listOf(await ask({ method: 'GET', path: '/slots', limitMs: answerWithinMs }));
      } catch (thrown) {
        if (!(await serverIsAway(thrown, dataDir))) throw thrown;
        return coldSlots(settings, proc);
      }
    },
    read: (name) => askOne(name, '', { method: 'GET', limitMs: answerWithinMs }),
    start: (name) => askOne(name, '/start', { method: 'POST', limitMs: answerWithinMs }),
    stop: (name, drainMs) =>
      askOne(name, `/stop${drainMs === null ? '' : `?drain_ms=${drainMs}`}`, {
        method: 'POST',
        limitMs: null,
      }),
    logs: (name, query) => logsOf(settings, name, query, proc),
  };
}

function listOf(body: unknown): readonly SlotRow[] {
  if (!Array.isArray(body))
    throw new OperatorError('the server has no list of slots: is it another version?');
  return body.map(parseRow);
}

function assertKnown(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const none = known.length === 0 ? ': the configuration has no slots' : hint(name, known);
  throw new OperatorError(`there is no slot ${name}${none}`);
}

/** What a slot is while nobody runs it. */
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
  // Only a name can name a folder; what the configuration no longer has may still have logs.
  const logs = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(slot) ? await startLogs(dataDir, slot) : [];
  const waits = follow && start === null;
  if (logs.length === 0) {
    assertKnown(
      slot,
      readConfig(settings, proc).slots.map(({ name }) => name),
    );
    if (!waits)
      throw new OperatorError(`there is no log of ${slot}: its engine was not started here, or said nothing`);
  }
  const log = start === null ? logs[0] : logs[start - 1];
  if (log === undefined && !waits)
    throw new OperatorError(
      `there is no log of start ${start}: those of the last ${logs.length} starts are kept`,
    );
  if (!follow) return yield* log === undefined ? [] : readLog(log, last);
  const from = { dataDir, slot, log: start === null ? null : (log ?? null) };
  // Whoever follows ends the command to stop.
  yield* followLog(from, last, systemClock, new AbortController().signal);
}
