import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, type Places } from './cli/shell.ts';
import type { LogWish, SlotDesk } from './cli/slot-desk.ts';
import { hint } from './config/nearest.ts';
import { type ControlCall, ControlUnreachable, callControl } from './control/call.ts';
import { parseRow, type SlotRow } from './control/slots.ts';
import { readConfig, type Settings, settingsOf } from './settings.ts';
import { readHistory } from './slots/history.ts';
import { followLog, type LogLine, readLog, startLogs } from './slots/read-log.ts';
import { identify } from './store/embedded/process-identity.ts';
import type { Surroundings } from './surroundings.ts';
import { systemClock } from './time/clock.ts';

/** A server that is alive answers this within its sleep. */
const answerWithinMs = 10_000;

/** The slots of the data directory that the options name: through its server's control socket, and from its files. */
export function openSlotDeskOf(places: Places, around: Surroundings): SlotDesk {
  const settings = settingsOf(places, around);
  const { dataDir } = settings;
  const ask = async (call: ControlCall): Promise<unknown> => {
    const { status, body } = await callControl(dataDir, call, systemClock);
    if (status === 200) return body;
    const { error } = body as { readonly error?: unknown };
    throw new CliError(typeof error === 'string' ? error : `the server answers ${status}`);
  };
  /** One slot of the server; a name that it does not know is answered with the ones that it does. */
  const askOne = async (name: string, verb: string, call: Omit<ControlCall, 'path'>): Promise<SlotRow> => {
    try {
      const rows = listOf(await ask({ method: 'GET', path: '/slots', limitMs: answerWithinMs }));
      assertKnown(
        name,
        rows.map((row) => row.name),
      );
      return parseRow(await ask({ ...call, path: `/slots/${encodeURIComponent(name)}${verb}` }));
    } catch (thrown) {
      throw await unreachable(thrown, dataDir);
    }
  };
  return {
    async list() {
      try {
        return listOf(await ask({ method: 'GET', path: '/slots', limitMs: answerWithinMs }));
      } catch (thrown) {
        const isNone = thrown instanceof ControlUnreachable && thrown.why === 'none';
        if (!isNone || (await serverOf(dataDir)) !== null) throw await unreachable(thrown, dataDir);
        return coldSlots(settings, around);
      }
    },
    read: (name) => askOne(name, '', { method: 'GET', limitMs: answerWithinMs }),
    start: (name) => askOne(name, '/start', { method: 'POST', limitMs: answerWithinMs }),
    stop: (name, drainMs) =>
      askOne(name, `/stop${drainMs === null ? '' : `?drain_ms=${drainMs}`}`, {
        method: 'POST',
        limitMs: null,
      }),
    logs: (name, wish) => logsOf(settings, name, wish, around),
  };
}

function listOf(body: unknown): readonly SlotRow[] {
  if (!Array.isArray(body)) throw new CliError('the server has no list of slots: is it another version?');
  return body.map(parseRow);
}

function assertKnown(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const none = known.length === 0 ? ': the configuration has no slots' : hint(name, known);
  throw new CliError(`there is no slot ${name}${none}`);
}

/** What a slot is while nobody runs it. */
async function coldSlots(settings: Settings, around: Surroundings): Promise<readonly SlotRow[]> {
  const { slots } = readConfig(settings, around);
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
  { start, last, follow }: LogWish,
  around: Surroundings,
): AsyncGenerator<LogLine> {
  const { dataDir } = settings;
  // Only a name can name a folder; what the configuration no longer has may still have logs.
  const logs = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(slot) ? await startLogs(dataDir, slot) : [];
  const waits = follow && start === null;
  if (logs.length === 0) {
    assertKnown(
      slot,
      readConfig(settings, around).slots.map(({ name }) => name),
    );
    if (!waits)
      throw new CliError(`there is no log of ${slot}: its engine was not started here, or said nothing`);
  }
  const log = start === null ? logs[0] : logs[start - 1];
  if (log === undefined && !waits)
    throw new CliError(`there is no log of start ${start}: those of the last ${logs.length} starts are kept`);
  if (!follow) return yield* log === undefined ? [] : readLog(log, last);
  const from = { dataDir, slot, log: start === null ? null : (log ?? null) };
  // Whoever follows ends the command to stop.
  yield* followLog(from, last, systemClock, new AbortController().signal);
}

/** Turns the trouble of reaching a server into words with a remedy; any other error stays as it is. */
async function unreachable(thrown: unknown, dataDir: string): Promise<unknown> {
  if (!(thrown instanceof ControlUnreachable)) return thrown;
  const server = await serverOf(dataDir);
  switch (thrown.why) {
    case 'denied':
      return new CliError(
        `this user may not ask the server of ${dataDir} (${thrown.message}): run this as the user who runs the server`,
      );
    case 'silent':
      return new CliError(`the server of ${dataDir} did not answer: ${thrown.message}`);
    case 'none':
      return new CliError(
        server === null
          ? `no server runs on ${dataDir}: start it with naru up, or name its data directory with --data-dir`
          : `the server of ${dataDir} (${server}) cannot be asked: it is starting or stopping, or its log says why it has no control socket`,
      );
  }
}

/** The server that has the data directory now, in its own words; null when there is none that can be seen. */
async function serverOf(dataDir: string): Promise<string | null> {
  try {
    const holder: { readonly pid: number; readonly born: string; readonly describe: string } = JSON.parse(
      readFileSync(join(dataDir, 'naru.lock.json'), 'utf8'),
    );
    const isAlive = (await identify(holder.pid))?.born === holder.born;
    return isAlive && holder.describe.startsWith('naru up') ? `process ${holder.pid}` : null;
  } catch {
    return null;
  }
}
