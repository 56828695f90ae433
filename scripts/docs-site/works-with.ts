import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requirementsFolder } from '../../test/python-clients/venv.ts';
import type { Client } from '../../test/works-with/client.ts';
import { clients } from '../../test/works-with/clients.ts';

const root = join(import.meta.dirname, '../..');

const introduction = `# Works with

Every client here was run exactly as shown against a whole gateway, its bill checked to the micro-won,
with tools, thinking on every family of models, streams and errors. An agent did a task on files with its
tools; where noted, also with a model that rejects a conversation in which \`reasoning_content\` does not
come back to the byte.

\`http://127.0.0.1:8787/api/v1\` is the address of a first start, \`sk-naru-v1-…\` the key that it
prints, and \`naru/demo\` the demo model. The demo model responds to an agent's questions about Naru but
does no work: give an agent a model of your own.

Naru recognises from the headers of a request which app sent it and
records the app with each generation. Your own program gets a name with the headers \`HTTP-Referer\`
(its address) and \`X-Title\`.

**Money.** Every amount is in won: \`usage.cost\`, prices, balances, limits. Many clients print any
cost with a dollar sign: read it as won. A client that multiplies tokens by its own price list shows
something else; the bill is \`usage.cost\`.

**What does not work.** Codex needs \`/responses\` and Claude Code needs \`/messages\`. Naru offers
\`/chat/completions\` and \`/completions\`, and returns 404 for both.
`;

/** The page of the clients that the tests run, each with its snippet and its tested version. */
export function worksWithText(): string {
  return `${[introduction, `${table()}\n`, ...clients.map(section)].join('\n')}`;
}

/** The tested version of a client, automatic or manual. */
export function testedVersion(client: Client): string {
  const version = client.versionByHand ?? (client.registry === 'npm' ? fromNpm(client) : fromPypi(client));
  if (version === undefined) throw new Error(`no test installs ${client.package}`);
  return version;
}

function fromNpm({ package: name }: Client): string | undefined {
  for (const file of ['package.json', 'test/agents/packages/package.json']) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>;
      readonly devDependencies?: Readonly<Record<string, string>>;
    };
    const version = { ...dependencies, ...devDependencies }[name];
    if (version !== undefined) return version;
  }
  return undefined;
}

/** Each client has its own file there, which pins all its packages. */
function fromPypi({ package: name }: Client): string | undefined {
  const pins = readFileSync(join(requirementsFolder, `${name}.txt`), 'utf8').split('\n');
  return pins.find((pin) => pin.startsWith(`${name}==`))?.slice(name.length + 2);
}

function table(): string {
  const rows = clients.map(
    (client) =>
      `| ${client.name} | \`${client.package}\` ${testedVersion(client)} | \`${client.brief}\` | ${howTested(client)} |`,
  );
  return ['| Client | Tested version | What to set | Tested by |', '|---|---|---|---|', ...rows].join('\n');
}

function howTested(client: Client): string {
  if (client.versionByHand !== undefined) return 'hand';
  if (client.registry === 'PyPI') return '`npm run test:python-clients`';
  return client.kind === 'agent' ? '`npm run test:agents`' : '`npm test`';
}

function section(client: Client): string {
  const intro = client.file === null ? `${intros[client.language]}:` : `The file \`${client.file}\`:`;
  const app = client.app === null ? 'recorded as no app' : `recorded as the app ${client.app}`;
  const named = `\`${client.package}\` ${testedVersion(client)} from ${client.registry}`;
  const reasoning = client.returnsReasoning ? 'It sends reasoning back.' : null;
  const remarks = [client.remark, reasoning].filter((each) => each !== null).join(' ');
  return `## ${client.name}

${named}; tested by ${howTested(client)}; ${app}. ${intro}

\`\`\`${client.language}
${client.snippet}\`\`\`
${remarks === '' ? '' : `\n${remarks}\n`}`;
}

const intros: Readonly<Record<Client['language'], string>> = {
  ts: 'A program',
  py: 'A program',
  sh: 'In a shell',
  json: 'A file',
  toml: 'A file',
  yaml: 'A file',
};
