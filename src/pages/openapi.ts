import { catalogue, type Failure } from '../errors/catalogue.ts';
import { type PageFailure, pageFailures } from '../errors/page-refusal.ts';
import {
  errorResponses,
  type OpenapiObject,
  pathParameters,
  queryParameters,
  schemaOf,
} from '../wire/openapi-parts.ts';
import { sessionCookies } from './page-reply.ts';
import { type AnyPageRoute, isChange } from './page-route.ts';
import { pageErrorShape } from './shapes.ts';

/**
 * The OpenAPI 3.1 document of the page API, from the rows only. The types of the web are generated
 * from it.
 */
export function pageOpenapi(rows: readonly AnyPageRoute[]): OpenapiObject {
  const paths: Record<string, OpenapiObject> = {};
  for (const row of rows)
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operation(row) };
  return {
    openapi: '3.1.0',
    info: { title: 'Naru pages', version: '1', description: 'The API of the pages: dashboard and console' },
    paths,
    components: {
      securitySchemes: Object.fromEntries(
        Object.entries(sessionCookies).map(([area, name]) => [area, { type: 'apiKey', in: 'cookie', name }]),
      ),
      schemas: { Error: schemaOf(pageErrorShape, 'output') },
    },
  };
}

function operation(row: AnyPageRoute): OpenapiObject {
  return {
    operationId: operationId(row),
    summary: row.summary,
    ...(row.role === undefined ? {} : { 'x-role': row.role }),
    security: row.credential === 'none' ? [] : [{ [row.area]: [] }],
    parameters: [...pathParameters(row.path), ...queryParameters(row.query), ...keyParameter(row)],
    ...(row.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(row.body, 'input') } },
          },
        }),
    responses: { 200: { description: 'OK', content: contentOf(row) }, ...errorResponses(failuresOf(row)) },
  };
}

function contentOf(row: AnyPageRoute): OpenapiObject {
  if (row.format === 'csv') return { 'text/csv': { schema: { type: 'string' } } };
  const type = row.format === 'stream' ? 'text/event-stream' : 'application/json';
  return { [type]: { schema: schemaOf(row.response, 'output') } };
}

/** `GET /dashboard/api/keys/{hash}` is `get_dashboard_keys_hash`. */
function operationId({ method, path }: { readonly method: string; readonly path: string }): string {
  const parts = path.split(/[^A-Za-z0-9]+/).filter((part) => part !== '' && part !== 'api');
  return [method.toLowerCase(), ...parts].join('_');
}

function keyParameter({ method, credential }: AnyPageRoute): readonly OpenapiObject[] {
  if (!isChange(method) || credential === 'none') return [];
  return [
    { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string', format: 'uuid' } },
  ];
}

/** The possible failures of each status. */
function failuresOf(row: AnyPageRoute): ReadonlyMap<number, readonly string[]> {
  const failures: readonly (Failure | PageFailure)[] = [
    ...(row.credential === 'none' ? [] : (['session_required'] as const)),
    ...(row.role === undefined ? [] : (['role_required'] as const)),
    ...(row.query === undefined && row.body === undefined ? [] : (['invalid_request'] as const)),
    ...(row.path.includes('{') ? (['not_found'] as const) : []),
    ...(isChange(row.method) ? (['invalid_origin'] as const) : []),
    ...(isChange(row.method) && row.credential === 'session'
      ? ([
          'idempotency_key_required',
          'idempotency_conflict',
          'change_in_progress',
          'outcome_unknown',
        ] as const)
      : []),
    ...(row.body === undefined ? [] : (['too_large'] as const)),
    ...(row.format === 'stream' ? (['too_many_watchers'] as const) : []),
    'rate_limit_exceeded',
    'server',
    'reading_too_slow',
  ];
  return Map.groupBy(failures, statusOf);
}

function statusOf(failure: Failure | PageFailure): number {
  return failure in pageFailures
    ? pageFailures[failure as PageFailure]
    : catalogue[failure as Failure].status;
}
