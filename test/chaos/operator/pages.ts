import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutSection } from '../../../scripts/docs-site/markdown.ts';
import { codeBlocksIn } from '../../docs/code-blocks.ts';

const root = join(import.meta.dirname, '../../..');
/** The pages whose steps the trial takes. */
const files = ['docs/quick-start.md', 'docs/tasks.md'] as const;

/** The blocks of a section in one language, in order. Throws when it has none. */
export function blocksOf(place: string, language: 'bash' | 'yaml'): readonly string[] {
  const [file = '', anchor = ''] = place.split('#');
  const { section } = cutSection(readFileSync(join(root, file), 'utf8'), anchor);
  const blocks = codeBlocksIn(section, file).filter((block) => block.language === language);
  if (blocks.length === 0) throw new Error(`${place} has no block of ${language}`);
  return blocks.map(({ text }) => text);
}

/** The commands of a section: a line each, with its continuation or its here-document. */
export function commandsOf(place: string): readonly string[] {
  return blocksOf(place, 'bash').flatMap(commandsIn);
}

/** All commands of the pages, for the comparison with those that were run. */
export function allCommands(): readonly string[] {
  return files.flatMap((file) =>
    codeBlocksIn(readFileSync(join(root, file), 'utf8'), file)
      .filter(({ language }) => language === 'bash')
      .flatMap(({ text }) => commandsIn(text)),
  );
}

function commandsIn(block: string): readonly string[] {
  const commands: string[] = [];
  let end: string | null = null;
  let goesOn = false;
  for (const line of block.trimEnd().split('\n')) {
    if (end !== null || goesOn) commands.push(`${commands.pop()}\n${line}`);
    else commands.push(line);
    if (end === line) end = null;
    else end ??= /<<'(\w+)'$/.exec(line)?.[1] ?? null;
    goesOn = line.endsWith('\\');
  }
  return commands;
}
