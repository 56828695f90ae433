import { Argument, type Command } from 'commander';
import type { CliContext } from '../context.ts';

/** `naru completion`: a script of the shell, made from the commands and their options. */
export function addCompletionCommand(program: Command, cli: CliContext): void {
  program
    .command('completion')
    .description('print a completion script: source <(naru completion bash)')
    .addArgument(new Argument('<shell>', 'shell that runs it').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => cli.out(shells[shell](casesOf(program))));
}

/** What each shell has of its own: the words before the cursor, and how it receives what fits. */
const shells = {
  bash: (cases: string): string => `_naru() {
  local at=naru before= offered= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${cases}
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _naru naru
`,
  zsh: (cases: string): string => `#compdef naru
_naru() {
  local at=naru before= offered= word
  for word in "\${(@)words[2,CURRENT-1]}"; do
${cases}
  if [[ -n $offered ]]; then compadd -- \${=offered}; else _files; fi
}
compdef _naru naru
`,
};

/** The end of the loop over the words, which finds the command, then what may follow it. */
function casesOf(program: Command): string {
  const all = [...commandsOf(program, 'naru')];
  const paths = all.slice(1).map(({ path }) => path);
  const offers = all.flatMap(({ path, command }) => [
    ...command.options
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => `    '${path} ${long}') offered='${argChoices.join(' ')}' ;;`),
    `    '${path} '*) offered='${wordsAfter(command).join(' ')}' ;;`,
  ]);
  return `    case $at/$word in ${paths.join('|')}) at=$at/$word ;; esac
    before=$word
  done
  case "$at $before" in
${offers.join('\n')}
  esac`;
}

function* commandsOf(
  command: Command,
  path: string,
): Generator<{ readonly path: string; readonly command: Command }> {
  yield { path, command };
  for (const each of command.commands) yield* commandsOf(each, `${path}/${each.name()}`);
}

function wordsAfter(command: Command): readonly string[] {
  return [
    ...command.commands.map((each) => each.name()),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    ...command.options.map(({ long }) => long ?? ''),
    '--help',
  ];
}
