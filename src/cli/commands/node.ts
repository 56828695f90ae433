import type { Command } from 'commander';
import { isoOf } from '../../time/clock.ts';
import { type CommonOptions, inOffice, withCommonOptions } from '../options.ts';
import type { Shell } from '../shell.ts';

const columns = ['node_id', 'address', 'state', 'started_at', 'seen_ms_ago'];

/** `naru node list`: the gateways that serve from the database. */
export function addNodeCommands(program: Command, shell: Shell): void {
  const node = program
    .command('node')
    .description('the gateways that serve from one database')
    .helpCommand(false);

  withCommonOptions(node.command('list'))
    .description('every node, oldest first; a lost one did not stop in order')
    .action((flags: CommonOptions) =>
      inOffice(shell, flags, async (office, output) =>
        output.table(
          columns,
          (await office.readNodes()).map(({ id, address, lives, startedAtMs, silentMs }) => ({
            node_id: id,
            address,
            state: lives ? 'serving' : 'lost',
            started_at: isoOf(startedAtMs),
            seen_ms_ago: Math.round(silentMs),
          })),
        ),
      ),
    );
}
