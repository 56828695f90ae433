import { globSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const notOurs = /(?:^|\/)(?:node_modules|release|build|dist|program|\.[a-z-]+)$/;

/** Every Markdown file of the repository, those of contributors included. */
export function markdownFiles(): readonly string[] {
  return globSync('**/*.md', { cwd: root, exclude: (path) => notOurs.test(path) }).sort();
}
