import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';

const introduction = `# Commands

What follows \`naru\`. All support \`--help\`, \`--json\` (one JSON object per line), \`--as\` (a name for the
audit log), \`--data-dir\` and \`--config\`. Exit codes: 0 success, 1 failure, 2 usage error.

`;

/** The page of every command, from the program itself. */
export function commandsPage(): string {
  const context = { version: '', user: '' } as Partial<CliContext> as CliContext & { user: string };
  const rows = leavesOf(createProgram(context, { exitCode: 0 }), '').map(
    ([name, description]) => `- \`${name}\`: ${description}\n`,
  );
  return introduction + rows.join('');
}

/** Commands that do something: those without commands below them, and backup, which has both. */
function leavesOf(command: Command, parents: string): readonly (readonly [string, string])[] {
  const name = `${parents}${command.name()}`;
  const below = command.commands.flatMap((child) =>
    leavesOf(child, command.parent === null ? '' : `${name} `),
  );
  const args = command.registeredArguments.map(
    (argument) => ` ${argument.required ? '<' : '['}${argument.name()}${argument.required ? '>' : ']'}`,
  );
  const isGroup = below.length > 0 && command.name() !== 'backup';
  return isGroup ? below : [[`${name}${args.join('')}`, purposeOf(command)], ...below];
}

/** The rest of a description is for those who have chosen the command. */
function purposeOf(command: Command): string {
  return command.description().replace(/(?:[;,]| and wait) .*/, '');
}
