/**
 * Writes what the clients in `test/works-with` imply: `docs/works-with.md`, and the table of README.md between `<!-- works with -->`
 * and `<!-- end -->`. Run it after a change of a client or of its version; a test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../test/works-with/client.ts';
import { clients } from '../test/works-with/clients.ts';

const root = join(import.meta.dirname, '..');

/** The page with every snippet. */
export const worksWithFile = join(root, 'docs/works-with.md');
/** The page with the table. */
export const readmeFile = join(root, 'README.md');

const introduction = `# Works with

Each of these is set up by the tests exactly as it stands here, then used against a whole gateway, and its bill is checked to the micro-won. A library
runs as the program below in \`npm test\`, which also puts it through tools, streams, errors and leaving early (\`test/clients/\`). An agent gets a task in
\`npm run test:agents\`: it reads one file and writes another, by the tools that it offers to the model.

\`http://127.0.0.1:8787/api/v1\` is the address of a first start, \`sk-naru-v1-…\` the key that it prints, and \`naru/demo\` the model in the box. The model in the box
answers an agent's question about Naru, but does no work: give an agent a model of your own.

Naru tells from the headers of a request which app it came from (\`docs/decisions/apps.md\`), and has it on the record of each generation. A program of yours gets
a name of its own by the headers \`HTTP-Referer\` (its address) and \`X-Title\`.
`;

/** The text of `docs/works-with.md`. */
export function worksWithText(): string {
  return `${[introduction, ...clients.map(section)].join('\n')}`;
}

/** The README with the table as the clients have it. Throws when it has no place for it. */
export function readmeText(readme: string): string {
  const place = /(<!-- works with -->\n)[\s\S]*?(\n<!-- end -->)/;
  if (!place.test(readme)) throw new Error('README.md has no place for the table of clients');
  return readme.replace(place, (_all, head: string, tail: string) => `${head}\n${table()}\n${tail}`);
}

/** The version of a package that the tests run. */
export function testedVersion(name: string): string {
  for (const file of ['package.json', 'test/agents/packages/package.json']) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>;
      readonly devDependencies?: Readonly<Record<string, string>>;
    };
    const version = { ...dependencies, ...devDependencies }[name];
    if (version !== undefined) return version;
  }
  throw new Error(`no test installs ${name}`);
}

function table(): string {
  const rows = clients.map(
    (client) =>
      `| ${client.name} | \`${client.package}\` ${testedVersion(client.package)} | \`${client.brief}\` |`,
  );
  return ['| Client | Tested version | What to set |', '|---|---|---|', ...rows].join('\n');
}

function section(client: Client): string {
  const where = { ts: 'A program:', sh: 'In a shell:', yaml: '' }[client.language];
  const intro = client.file === null ? where : `The file \`${client.file}\`:`;
  return `## ${client.name}

\`${client.package}\` ${testedVersion(client.package)}; on record as the app ${client.app}. ${intro}

\`\`\`${client.language}
${client.snippet}\`\`\`
${client.remark === null ? '' : `\n${client.remark}\n`}`;
}

if (import.meta.main) {
  writeFileSync(worksWithFile, worksWithText());
  writeFileSync(readmeFile, readmeText(readFileSync(readmeFile, 'utf8')));
}
