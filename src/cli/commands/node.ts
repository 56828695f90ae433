import type { Command } from 'commander';
import { isoOf } from '../../time/clock.ts';
import { type CommonOptions, inOffice, placesOf, withCommonOptions } from '../options.ts';
import { Output } from '../output.ts';
import type { Shell } from '../shell.ts';

const columns = ['node_id', 'name', 'address', 'state', 'started_at', 'seen_ms_ago'];

/** `naru node list|new-identity`: the gateways that serve from the database. */
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
          (await office.readNodes()).map(({ id, home, address, lives, startedAtMs, silentMs }) => ({
            node_id: id,
            name: home,
            address,
            state: lives ? 'serving' : 'lost',
            started_at: isoOf(startedAtMs),
            seen_ms_ago: Math.round(silentMs),
          })),
        ),
      ),
    );

  withCommonOptions(node.command('new-identity'))
    .description('make a copied data directory a node of its own; its copy of the journal is set aside')
    .action(async (flags: CommonOptions) => {
      const output = new Output(shell, flags.json === true);
      for (const { home, before, after, setAside } of await shell.newIdentity(placesOf(flags))) {
        const journal =
          setAside === null
            ? ''
            : `\nits copy of the journal is in ${setAside}; the original settles its own. Only if that is lost for good: naru node recover --copy ${setAside}`;
        await output.one(`${home} is node ${after} now, and was ${before}${journal}`, {
          ...{ home, before, after },
          set_aside: setAside,
        });
      }
    });
}
