import type { Credential } from '../../src/accounts/rules.ts';
import { openapi } from '../../src/api/openapi.ts';
import type { AnyRoute } from '../../src/api/route.ts';
import { endpoints } from '../../src/app/endpoints.ts';
import type { GatewayCore } from '../../src/app/gateway-core.ts';
import { catalogue, errorTypeOf } from '../../src/errors/catalogue.ts';
import { fieldTable, parameterTable, table } from './api-tables.ts';
import { type Language, words } from './api-text.ts';
import type { Content, Operation, Paths } from './openapi-form.ts';

/** The reference of the API: a page for each endpoint, from the rows that dispatch serves. */

/** A page of the site that no file of the repository has. */
export interface GeneratedPage {
  readonly address: string;
  readonly title: string;
  readonly text: string;
}

interface Document {
  readonly info: { readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Paths;
}

const apiPrefix = '/api/v1';

/** The pages of one language, the one of all endpoints first. */
export function apiPages(language: Language): readonly GeneratedPage[] {
  const routes = documentedRoutes();
  const document = openapi(routes, { version: '', language }) as unknown as Document;
  const base = language === 'en' ? 'api' : 'ko/api';
  const pages = routes.map((route) => {
    const operation = document.paths[route.path.slice(apiPrefix.length)]?.[route.method.toLowerCase()];
    if (operation === undefined) throw new Error(`the document lacks ${route.method} ${route.path}`);
    return {
      address: `${base}/${operation.operationId.replaceAll('_', '-')}`,
      title: operation.summary,
      text: endpointText(route, operation, language),
    };
  });
  const index = { address: `${base}/index`, title: words.reference[language] };
  return [{ ...index, text: indexText(document, routes, pages, language) }, ...pages];
}

/** The documented rows. A row needs its parts only when it handles a request. */
function documentedRoutes(): readonly AnyRoute[] {
  const anything: object = new Proxy(() => undefined, { get: () => anything });
  return endpoints(anything as GatewayCore, () => false).filter(
    ({ path, document }) => document !== undefined && path.startsWith(apiPrefix),
  );
}

function indexText(
  document: Document,
  routes: readonly AnyRoute[],
  pages: readonly GeneratedPage[],
  language: Language,
): string {
  const say = (name: keyof typeof words): string => words[name][language];
  const rows = routes.map((route, index) => {
    const { address = '', title = '' } = pages[index] ?? {};
    const file = address.slice(address.lastIndexOf('/') + 1);
    const { credential } = route;
    return [`[\`${route.method} ${route.path}\`](${file}.md)`, title, say(credential as Credential)];
  });
  const failures = (Object.keys(catalogue) as (keyof typeof catalogue)[]).map((failure) => {
    const { status, retry } = catalogue[failure];
    return [String(status), `\`${errorTypeOf(failure)}\``, say(retry ? 'yes' : 'no')];
  });
  const unique = [...new Map(failures.map((row) => [row.join(), row])).values()];
  return [
    `# ${say('reference')}`,
    document.info.description,
    `## ${say('endpoints')}`,
    table([say('endpoint'), say('what'), say('credential')], rows),
    `## ${say('errors')}`,
    table([say('status'), '`error_type`', say('retry')], unique),
  ].join('\n\n');
}

function endpointText(route: AnyRoute, operation: Operation, language: Language): string {
  const say = (name: keyof typeof words): string => words[name][language];
  const credential = route.credential as Credential;
  const { parameters, requestBody, responses } = operation;
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const part = (title: string, text: string): readonly string[] => (text === '' ? [] : [`## ${title}`, text]);
  const fields = (content: Content | undefined, type: string): string =>
    fieldTable(content?.[type]?.schema, language);
  return [
    `# ${operation.summary}`,
    `\`${route.method} ${route.path}\``,
    operation.description ?? '',
    `**${say('credential')}:** ${say(credential)}${credential === 'none' ? '' : `, ${say('asBearer')}`}`,
    ...part(say('parameters'), parameterTable(parameters, language)),
    ...part(say('request'), fields(requestBody?.content, 'application/json')),
    ...part(say('example'), exampleText(route)),
    ...part(`${say('response')} (${success?.[0]})`, fields(success?.[1].content, 'application/json')),
    ...part(say('stream'), fields(success?.[1].content, 'text/event-stream')),
    ...part(say('errors'), errorTable(operation, language)),
    say('limits'),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The example of the row as a command; a test of the API sends every example. */
function exampleText({ method, path, document, credential }: AnyRoute): string {
  const example = document?.example;
  if (example === undefined) return '';
  const address = `http://127.0.0.1:8787${example.path ?? path}`;
  return [
    '```sh',
    [
      `curl ${method === 'GET' ? '' : `-X ${method} `}${address}`,
      ...(credential === 'none' ? [] : [`-H 'Authorization: Bearer sk-naru-…'`]),
      ...(example.body === undefined
        ? []
        : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(example.body)}'`]),
    ].join(' \\\n  '),
    '```',
  ].join('\n');
}

function errorTable({ responses }: Operation, language: Language): string {
  const rows = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, { description = '' }]) => [status, description]);
  return table([words.status[language], '`error_type`'], rows);
}
