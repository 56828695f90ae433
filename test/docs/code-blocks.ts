import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** A fenced block of code of a page. */
export interface CodeBlock {
  readonly file: string;
  readonly line: number;
  /** The word behind the fence; empty without one. */
  readonly language: string;
  readonly text: string;
  /** The file and the first line, as a list names a block. */
  readonly name: string;
}

const fence = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm;

/** The blocks of a Markdown file of the repository, in order, without their indentation. */
export function codeBlocksOf(file: string): readonly CodeBlock[] {
  return codeBlocksIn(readFileSync(join(root, file), 'utf8'), file);
}

/** The blocks of a text of a file. */
export function codeBlocksIn(page: string, file: string): readonly CodeBlock[] {
  return [...page.matchAll(fence)].map(({ index, 1: indent = '', 2: language = '', 3: inside = '' }) => {
    const text = inside.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const line = page.slice(0, index).split('\n').length;
    return { file, line, language, text, name: `${file}: ${text.split('\n', 1)[0]}` };
  });
}

/** The words of a command as a shell separates them, without comments. */
export function wordsOf(command: string): readonly string[] {
  const words = command.replace(/ #.*$/, '').match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return words.map((word) => word.replaceAll(/^['"]|['"]$/g, ''));
}

/** A command with ids in place of the words in capitals for which a reader puts its own. */
export function withIds(command: string): string {
  return command
    .replaceAll(/\bGENERATION\b/g, 'gen-1795256637-6lyTdB8kBGAxXmx')
    .replaceAll(/\bKEY\b/g, '3f9a12c4')
    .replaceAll(/\bUUID\b/g, '00000000-0000-4000-8000-000000000000')
    .replaceAll(/\bID\b/g, '1');
}
