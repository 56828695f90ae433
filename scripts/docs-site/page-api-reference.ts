import type { Operation, Paths } from '../openapi-form.ts';
import { pageOpenapiText } from '../page-openapi.ts';
import type { GeneratedPage } from './api-reference.ts';
import { fieldTable, parameterTable, table } from './api-tables.ts';
import { words } from './api-text.ts';

/** The reference of the API behind the dashboard and the console: a page for each kind of resource. */

interface Row {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const areas = {
  dashboard: 'Page API of the dashboard',
  console: 'Page API of the console',
} as const;

const introduction = `The requests of the browser. A program uses the [API](../api/index.md), which stays
compatible; this one changes with the pages. A request needs the cookie of a session, a change also
the header \`Idempotency-Key\` and the origin of the page.`;

/** The pages of both areas, the one of the area before those of its resources. */
export function pageApiPages(): readonly GeneratedPage[] {
  const { paths }: { readonly paths: Paths } = JSON.parse(pageOpenapiText());
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
  return Object.entries(areas).flatMap(([area, title]) => {
    const own = rows.filter(({ path }) => path.startsWith(`/${area}/`));
    const resources = Map.groupBy(own, ({ path }) => path.split('/')[3] ?? '');
    const pages = [...resources].map(([name, each]) => ({
      address: `page-api/${area}-${name}`,
      title: name,
      text: [`# ${title}: ${name}`, ...each.map(operationText)].join('\n\n'),
    }));
    const links = [...resources].flatMap(([name, each]) =>
      each.map(({ method, path, operation }) => [
        `[\`${method} ${path}\`](${area}-${name}.md)`,
        operation.summary,
        operation['x-role'] ?? '',
      ]),
    );
    const index = [`# ${title}`, introduction, table(['Endpoint', 'What it does', 'Role'], links)];
    return [{ address: `page-api/${area}`, title, text: index.join('\n\n') }, ...pages];
  });
}

function operationText({ method, path, operation }: Row): string {
  const { summary, security, parameters, requestBody, responses } = operation;
  const role = operation['x-role'];
  const [type, body] = Object.entries(responses['200']?.content ?? {})[0] ?? [];
  const request = fieldTable(requestBody?.content['application/json']?.schema, 'en');
  const failures = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, { description = '' }]) => [status, description]);
  const part = (title: string, text: string): readonly string[] =>
    text === '' ? [] : [`**${title}**`, text];
  return [
    `## ${method} ${path}`,
    `${summary}.`,
    `**${words.credential.en}:** ${security.length === 0 ? 'none' : 'a session'}${role === undefined ? '' : ` with the role \`${role}\``}`,
    ...part(words.parameters.en, parameterTable(parameters, 'en')),
    ...part(words.request.en, request),
    ...part(`${words.response.en}, \`${type}\``, fieldTable(body?.schema, 'en')),
    ...part(words.errors.en, table(['Status', 'Error'], failures)),
  ].join('\n\n');
}
