import { type Command, InvalidArgumentError } from 'commander';
import type { Recovered } from '../../admin/recover-journal.ts';
import { counted } from '../../errors/counted.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { isoOf } from '../../time/clock.ts';
import { visibleText } from '../arguments.ts';
import type { CliContext } from '../context.ts';
import { type CommonOptions, cliPaths, withCommonOptions, withOperatorService } from '../options.ts';
import { Output } from '../output.ts';

const columns = [
  'node_id',
  'name',
  'hostname',
  'address',
  'version',
  'state',
  'edition',
  'configuration',
  'prices',
  'started_at',
  'seen_ms_ago',
];

interface RecoverFlags extends CommonOptions {
  readonly copy?: boolean;
  readonly ofDatabase?: string;
  readonly acceptTorn?: boolean;
}

/** `naru node list|recover|write-off|new-identity`: the gateways that share the database. */
export function addNodeCommands(program: Command, cli: CliContext): void {
  const node = program
    .command('node')
    .description('list nodes (gateways that share one database) and repair lost ones')
    .helpCommand(false);
  addList(node, cli);
  addRecover(node, cli);
  addWriteOff(node, cli);
  addNewIdentity(node, cli);
}

function addList(node: Command, cli: CliContext): void {
  withCommonOptions(node.command('list'))
    .description('list all nodes, oldest first; a lost node stopped without a clean shutdown')
    .action((flags: CommonOptions) =>
      withOperatorService(cli, flags, async (operator, output) =>
        output.rows(
          columns,
          (await operator.readNodes()).map((row) => ({
            node_id: row.id,
            name: row.home,
            hostname: row.hostname,
            address: row.address,
            version: row.version,
            state: row.lives ? 'serving' : 'lost',
            edition: row.edition,
            configuration: row.configuration,
            prices: differenceText(row.differences),
            started_at: isoOf(row.startedAtMs),
            seen_ms_ago: Math.round(row.silentMs),
          })),
        ),
      ),
    );
}

function differenceText(differences: number | null): string | null {
  if (differences === null) return null;
  return differences === 0 ? 'as published' : `differs in ${counted(differences, 'price')}`;
}

function addRecover(node: Command, cli: CliContext): void {
  withCommonOptions(node.command('recover'))
    .description('settle the journal of a lost node from its disk or a copy of it')
    .argument('<dir>', 'data directory of the node, or a journal folder', visibleText)
    .option(
      '--copy',
      'the folder may be an older copy: leave unfinished requests alone and keep the node listed',
    )
    .option(
      '--of-database <uuid>',
      'also settle segments of this database, which the current database replaces',
      uuid,
    )
    .option(
      '--accept-torn',
      'a damaged, cut or torn journal is all that is left: record its unfinished requests as failed and close the node',
    )
    .action(async (dir: string, flags: RecoverFlags) => {
      const order = {
        dir,
        isCopy: flags.copy === true,
        ofDatabase: flags.ofDatabase ?? null,
        acceptsTorn: flags.acceptTorn === true,
      };
      const { recoverJournal } = await import('../../admin/recover-journal.ts');
      const done = await recoverJournal(cliPaths(flags), order, cli);
      await new Output(cli, flags.json === true).one(messageOf(done), {
        ...done,
        elsewhere: Object.fromEntries(done.elsewhere),
      });
      if (done.damaged > 0 && !order.isCopy && !order.acceptsTorn)
        throw new OperatorError(
          'part of the journal is missing: its unfinished requests are left alone, and its node stays listed. Copy the journal again, or pass --accept-torn if this is all that is left',
        );
    });
}

function addWriteOff(node: Command, cli: CliContext): void {
  withCommonOptions(node.command('write-off'))
    .description('remove a lost node whose journal cannot be recovered')
    .argument('<name>', 'node name from naru node list', uuid)
    .requiredOption('--reason <text>', 'reason, recorded in the database', visibleText)
    .action((name: string, flags: CommonOptions & { reason: string }) =>
      withOperatorService(cli, flags, async (operator, output) => {
        const outcome = await operator.writeOffNode({ home: name, reason: flags.reason });
        if (outcome === 'unknown') throw new OperatorError(`no node ${name}; run naru node list`);
        if (outcome === 'alive')
          throw new OperatorError(`node ${name} is not lost: its process runs, or was seen a moment ago`);
        await output.one(`${name}: written off`, { name, reason: flags.reason });
      }),
    );
}

function addNewIdentity(node: Command, cli: CliContext): void {
  withCommonOptions(node.command('new-identity'))
    .description('give a copied data directory its own node identity; its copy of the journal is set aside')
    .action(async (flags: CommonOptions) => {
      const { newIdentity } = await import('../../admin/new-identity.ts');
      const output = new Output(cli, flags.json === true);
      for (const { home, before, after, setAside } of await newIdentity(cliPaths(flags), cli)) {
        const journal =
          setAside === null
            ? ''
            : `\nits copy of the journal is in ${setAside}; the original node settles its own. Only if the original is lost: naru node recover --copy ${setAside}`;
        await output.one(`${home} is now node ${after} (was ${before})${journal}`, {
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

/** The outcome of a recovery, one line per fact. */
function messageOf(done: Recovered): string {
  const lines = [
    `${counted(done.settlements, 'settlement')}, ${done.known} of them already in the database; ${counted(done.failed, 'unfinished request')} recorded as failed`,
  ];
  if (done.unfinished > 0) lines.push(`${counted(done.unfinished, 'unfinished request')} left alone`);
  if (done.quarantined > 0)
    lines.push(
      `the database rejected ${counted(done.quarantined, 'settlement')}; run naru ledger quarantine`,
    );
  if (done.damaged > 0)
    lines.push(`damaged, cut or torn, and read in part: ${counted(done.damaged, 'segment')}`);
  for (const [database, segments] of done.elsewhere)
    lines.push(
      `of database ${database}: ${counted(segments, 'segment')}; recover them there, or pass --of-database`,
    );
  for (const home of done.alive) lines.push(`node ${home} is serving and settles its own requests`);
  for (const home of done.closed) lines.push(`node ${home} is no longer listed`);
  return lines.join('\n');
}
