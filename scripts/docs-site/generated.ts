import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsPage } from './commands.ts';
import { configurationPage, schemaText } from './configuration.ts';
import { evidencePage } from './evidence.ts';
import { providersPage } from './providers.ts';
import { worksWithText } from './works-with.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/**
 * The files below `docs/` that are written from the code and the tests, by their path in the
 * repository. `npm run docs` writes them into `build/`, a release has them at these paths.
 */
export function generatedFiles(): ReadonlyMap<string, string> {
  const configuration = 'docs/configuration.md';
  const providers = 'docs/providers.md';
  return new Map([
    [configuration, configurationPage(read(configuration))],
    [providers, providersPage(read(providers))],
    ['docs/commands.md', commandsPage()],
    ['docs/works-with.md', worksWithText()],
    ['docs/evidence.md', evidencePage()],
    ['docs/naru.schema.json', schemaText()],
  ]);
}
