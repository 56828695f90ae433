import { type Command, InvalidArgumentError } from 'commander';
import type { Recovered } from '../../admin/recover-journal.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { isoOf } from '../../time/clock.ts';
import { words } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions, withOperatorService } from '../options.ts';
import { Output } from '../output.ts';

const columns = ['node_id', 'name', 'address', 'state', 'started_at', 'seen_ms_ago'];

/** `naru node list|recover|write-off|new-identity`: the gateways that serve from the database. */
export function addNodeCommands(program: Command, cli: CliContext): void {
  const node = program
    .command('node')
    .description('the gateways that serve from one database')
    .helpCommand(false);

  withCommonOptions(node.command('list'))
    .description('every node, oldest first; a lost one did not stop in order')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.table(
          columns,
          (await operator.readNodes()).map(({ id, home, address, lives, startedAtMs, silentMs }) => ({
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

  withCommonOptions(node.command('recover'))
    .description('settle the journal of a node that does not come back, from its disk or a copy')
    .argument('<dir>', 'its data directory, or the folder of a journal', words)
    .option(
      '--copy',
      'it may be older than what the node has: leave requests without an end, and the node in the list',
    )
    .option('--of-database <uuid>', 'take segments of this database too: the books here continue those', uuid)
    .action(async (dir: string, flags: CommonOptions & { copy?: boolean; ofDatabase?: string }) => {
      const order = { dir, isCopy: flags.copy === true, ofDatabase: flags.ofDatabase ?? null };
      const { recoverJournal } = await import('../../admin/recover-journal.ts');
      const done = await recoverJournal(cliPaths(flags), order, cli);
      await new Output(cli, flags.json === true).one(messageOf(done), {
        ...done,
        elsewhere: Object.fromEntries(done.elsewhere),
      });
    });

  withCommonOptions(node.command('write-off'))
    .description('take a lost node out of the list whose journal is gone')
    .argument('<name>', 'as naru node list shows it', uuid)
    .requiredOption('--reason <text>', 'why, for the books', words)
    .action((name: string, flags: CommonOptions & { reason: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await operator.writeOffNode({ home: name, reason: flags.reason });
        if (outcome === 'unknown') throw new OperatorError(`there is no node ${name}: see naru node list`);
        if (outcome === 'alive')
          throw new OperatorError(`node ${name} was seen a moment ago: it is not lost`);
        await output.one(`${name}: written off`, { name, reason: flags.reason });
      }),
    );

  withCommonOptions(node.command('new-identity'))
    .description('make a copied data directory a node of its own; its copy of the journal is set aside')
    .action(async (flags: CommonOptions) => {
      const { newIdentity } = await import('../../admin/new-identity.ts');
      const output = new Output(cli, flags.json === true);
      for (const { home, before, after, setAside } of await newIdentity(cliPaths(flags), cli)) {
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

function uuid(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('must be a uuid.');
}

/** What was recovered, a line for each thing worth knowing. */
function messageOf(done: Recovered): string {
  const lines = [
    `${done.settlements} settlements, of which the database had ${done.known}; ${done.failed} requests without an end recorded as failed`,
  ];
  if (done.unfinished > 0) lines.push(`${done.unfinished} requests without an end were left alone`);
  if (done.quarantined > 0)
    lines.push(`${done.quarantined} settlements were refused: see naru ledger quarantine`);
  if (done.damaged > 0) lines.push(`${done.damaged} segments cannot be read in whole`);
  for (const [database, segments] of done.elsewhere)
    lines.push(
      `${segments} segments belong to database ${database}: recover them there, or with --of-database`,
    );
  for (const home of done.alive) lines.push(`node ${home} serves: it settles its own requests`);
  for (const home of done.closed) lines.push(`node ${home} is no longer listed`);
  return lines.join('\n');
}
