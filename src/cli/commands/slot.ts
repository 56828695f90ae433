import type { Command } from 'commander';
import type { SlotAdmin } from '../../admin/slots.ts';
import type { SlotRow } from '../../control/slots.ts';
import { pause, systemClock } from '../../time/clock.ts';
import { count, seconds } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output, type Row } from '../output.ts';

/** How often a slot that starts or stops is looked at. */
const lookEveryMs = 100;

const columns = [
  'name',
  'driver',
  'state',
  'in flight',
  'queued',
  'starts',
  'start took',
  'pid',
  'port',
  'reason',
];

/** `naru slot list|start|stop|logs` (spec:operator/1.9). */
export function addSlotCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const slot = program.command('slot').description('the local engines').helpCommand(false);

  withCommonOptions(slot.command('list'))
    .description('every slot and what it is doing')
    .action(async (flags: CommonOptions) => {
      const rows = await (await openSlots(flags, cli)).list();
      await new Output(cli, flags.json === true).table(columns, rows.map(shown), 'none', rows);
    });

  withCommonOptions(slot.command('start'))
    .description('start its engine now and wait until it serves; exit code 1 when it does not')
    .argument('<name>', 'the slot')
    .option('--no-wait', 'do not wait for the engine')
    .action(async (name: string, flags: CommonOptions & { wait: boolean }) => {
      const slots = await openSlots(flags, cli);
      const print = flags.json === true ? () => {} : (row: SlotRow) => cli.err(`${name}: ${stateOf(row)}\n`);
      const asked = await slots.start(name);
      const row = flags.wait ? await started(slots, asked, print) : asked;
      const isReady = row.state === 'READY';
      if (flags.wait && !isReady) state.exitCode = 1;
      await new Output(cli, flags.json === true).one(
        isReady ? readyText(row) : `${name}: ${stateOf(row)}`,
        row,
      );
    });

  withCommonOptions(slot.command('stop'))
    .description('stop its engine and wait until nothing of it is left')
    .argument('<name>', 'the slot')
    .option('--drain <seconds>', 'what requests in flight get to end (default: 30)', seconds)
    .action(async (name: string, flags: CommonOptions & { drain?: number }) => {
      const slots = await openSlots(flags, cli);
      const drainMs = flags.drain === undefined ? null : flags.drain * 1000;
      const over = new AbortController();
      const print = (row: SlotRow): void => cli.err(`${name}: ${stateOf(row)}\n`);
      const printed = flags.json === true ? Promise.resolve() : tell(slots, name, print, over.signal);
      const row = await slots.stop(name, drainMs).finally(() => over.abort());
      await printed;
      await new Output(cli, flags.json === true).one(`${name}: ${stateOf(row)}`, row);
    });

  withCommonOptions(slot.command('logs'))
    .description('what its engine said; works without a server too')
    .argument('<name>', 'the slot')
    .option('-n, --lines <n>', 'only the last lines of what is there', count)
    .option('-f, --follow', 'wait for more, also of the starts that come; Ctrl-C ends it')
    .option('--start <n>', 'of an earlier start: 1 is the newest, 2 the one before', count)
    .action(
      async (name: string, flags: CommonOptions & { lines?: number; follow?: boolean; start?: number }) => {
        const slots = await openSlots(flags, cli);
        const output = new Output(cli, flags.json === true);
        const query = {
          start: flags.start ?? null,
          last: flags.lines ?? null,
          follow: flags.follow === true,
        };
        for await (const { startedAt, line } of slots.logs(name, query))
          await output.one(line, { slot: name, started_at: startedAt, line });
      },
    );
}

/**
 * Looks at a slot that was told to start until it serves, or until that start has come to nothing. The start meant is the one
 * under way, or the one after an engine that is still on its way out.
 */
async function started(slots: SlotAdmin, asked: SlotRow, print: (row: SlotRow) => void): Promise<SlotRow> {
  const isLeaving = ['DRAINING', 'STOPPING', 'RECLAIMING', 'ADMITTING', 'BACKOFF'].includes(asked.state);
  const meant = asked.starts + (isLeaving ? 1 : 0);
  let seen = '';
  for (let row = asked; ; row = await slots.read(row.name)) {
    const { state, starts } = row;
    const hasFailed = (state === 'BACKOFF' || state === 'FAILED') && starts >= meant;
    if (state === 'READY' || state === 'COLD' || hasFailed) return row;
    if (stateOf(row) !== seen) print(row);
    seen = stateOf(row);
    await pause(systemClock, lookEveryMs, new AbortController().signal);
  }
}

/** Says what a slot is doing whenever that changes, until the signal aborts. */
async function tell(
  slots: SlotAdmin,
  name: string,
  print: (row: SlotRow) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = '';
  for (;;) {
    await pause(systemClock, lookEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    // The stop itself says what is wrong.
    const row = await slots.read(name).catch(() => null);
    if (row === null || signal.aborted) return;
    if (stateOf(row) !== last && row.state !== 'READY') print(row);
    last = stateOf(row);
  }
}

function stateOf({ state, reason, in_flight }: SlotRow): string {
  const busy = in_flight > 0 ? `, ${in_flight} requests in flight` : '';
  return `${state}, ${reason}${busy}`;
}

function readyText({ name, last_start_ms: ms, pid, port }: SlotRow): string {
  const where = [pid === null ? null : `pid ${pid}`, port === null ? null : `port ${port}`].filter(Boolean);
  const took = ms === null ? '' : `; its last start took ${(ms / 1000).toFixed(1)} s`;
  return `${name}: READY${where.length === 0 ? '' : ` (${where.join(', ')})`}${took}`;
}

/** A slot for people: numbers that say nothing are left out. */
function shown(row: SlotRow): Row {
  return {
    name: row.name,
    driver: row.driver,
    state: row.state,
    'in flight': row.in_flight,
    queued: row.queued,
    starts: row.starts,
    'start took': row.last_start_ms === null ? null : `${(row.last_start_ms / 1000).toFixed(1)} s`,
    pid: row.pid,
    port: row.port,
    reason: row.reason,
  };
}

async function openSlots(flags: CommonOptions, cli: CliContext): Promise<SlotAdmin> {
  const { openSlotAdmin } = await import('../../admin/slots.ts');
  return openSlotAdmin(cliPaths(flags), cli);
}
