import type { Command } from 'commander';
import type { SlotAdmin } from '../../admin/slots.ts';
import { counted } from '../../errors/counted.ts';
import type { SlotRow } from '../../slots/control.ts';
import { pause, systemClock } from '../../time/clock.ts';
import { count, seconds } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';

/** How often the state of a starting or stopping slot is polled. */
const pollEveryMs = 100;

const columns = [
  'name',
  'driver',
  'state',
  'in_flight',
  'queued',
  'starts',
  'last_start_ms',
  'pid',
  'port',
  'reason',
];

/** `naru slot list|start|stop|logs` (spec:operator/1.9). */
export function addSlotCommands(program: Command, cli: CliContext, state: { exitCode: number }): void {
  const slot = program
    .command('slot')
    .description('list, start and stop the engines of slots, and print their output')
    .helpCommand(false);

  withCommonOptions(slot.command('list'))
    .description('list all slots and their states')
    .action(async (flags: CommonOptions) => {
      const rows = await (await openSlots(flags, cli)).list();
      await new Output(cli, flags.json === true).rows(columns, rows);
    });

  withCommonOptions(slot.command('start'))
    .description('start the engine of a slot and wait until it is ready; exit code 1 if it fails')
    .argument('<name>', 'slot name')
    .option('--no-wait', 'do not wait for the engine')
    .action(async (name: string, flags: CommonOptions & { wait: boolean }) => {
      const slots = await openSlots(flags, cli);
      const print = flags.json === true ? () => {} : (row: SlotRow) => cli.err(`${name}: ${stateOf(row)}\n`);
      const requested = await slots.start(name);
      const row = flags.wait ? await started(slots, requested, print) : requested;
      const isReady = row.state === 'READY';
      if (flags.wait && !isReady) state.exitCode = 1;
      await new Output(cli, flags.json === true).one(
        isReady ? readyText(row) : `${name}: ${stateOf(row)}`,
        row,
      );
    });

  withCommonOptions(slot.command('stop'))
    .description('stop the engine of a slot and wait until it has ended')
    .argument('<name>', 'slot name')
    .option('--drain <seconds>', 'time for requests in flight to finish (default: 30)', seconds)
    .action(async (name: string, flags: CommonOptions & { drain?: number }) => {
      const slots = await openSlots(flags, cli);
      const drainMs = flags.drain === undefined ? null : flags.drain * 1000;
      const over = new AbortController();
      const print = (row: SlotRow): void => cli.err(`${name}: ${stateOf(row)}\n`);
      const printed = flags.json === true ? Promise.resolve() : printChanges(slots, name, print, over.signal);
      const row = await slots.stop(name, drainMs).finally(() => over.abort());
      await printed;
      await new Output(cli, flags.json === true).one(`${name}: ${stateOf(row)}`, row);
    });

  withCommonOptions(slot.command('logs'))
    .description('print the output of the engine of a slot; works without a running server')
    .argument('<name>', 'slot name')
    .option('-n, --lines <n>', 'only the last <n> lines', count)
    .option('-f, --follow', 'follow output, including future starts; Ctrl-C ends')
    .option('--start <n>', 'output of one start: 1 is the newest, 2 the one before', count)
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
 * Polls a slot until it is ready or its start has failed. The start is the one in progress, or the
 * next one while the previous engine is still stopping.
 */
async function started(
  slots: SlotAdmin,
  requested: SlotRow,
  print: (row: SlotRow) => void,
): Promise<SlotRow> {
  const isStopping = ['DRAINING', 'STOPPING', 'RECLAIMING', 'ADMITTING', 'BACKOFF'].includes(requested.state);
  const awaited = requested.starts + (isStopping ? 1 : 0);
  let seen = '';
  for (let row = requested; ; row = await slots.read(row.name)) {
    const { state, starts } = row;
    const hasFailed = (state === 'BACKOFF' || state === 'FAILED') && starts >= awaited;
    if (state === 'READY' || state === 'COLD' || hasFailed) return row;
    if (stateOf(row) !== seen) print(row);
    seen = stateOf(row);
    await pause(systemClock, pollEveryMs, new AbortController().signal);
  }
}

/** Prints the state of a slot whenever it changes, until the signal aborts. */
async function printChanges(
  slots: SlotAdmin,
  name: string,
  print: (row: SlotRow) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = '';
  for (;;) {
    await pause(systemClock, pollEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    // The stop request reports errors.
    const row = await slots.read(name).catch(() => null);
    if (row === null || signal.aborted) return;
    if (stateOf(row) !== last && row.state !== 'READY') print(row);
    last = stateOf(row);
  }
}

function stateOf({ state, reason, in_flight }: SlotRow): string {
  const busy = in_flight > 0 ? `, ${counted(in_flight, 'request')} in flight` : '';
  return `${state}, ${reason}${busy}`;
}

function readyText({ name, last_start_ms: ms, pid, port }: SlotRow): string {
  const where = [pid === null ? null : `pid ${pid}`, port === null ? null : `port ${port}`].filter(Boolean);
  const took = ms === null ? '' : `; last start took ${(ms / 1000).toFixed(1)} s`;
  return `${name}: READY${where.length === 0 ? '' : ` (${where.join(', ')})`}${took}`;
}

async function openSlots(flags: CommonOptions, cli: CliContext): Promise<SlotAdmin> {
  const { openSlotAdmin } = await import('../../admin/slots.ts');
  return openSlotAdmin(cliPaths(flags), cli);
}
