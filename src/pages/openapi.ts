import { z } from 'zod';
import { catalogue, type Failure } from '../errors/catalogue.ts';
import { type PageFailure, pageFailures } from '../errors/page-refusal.ts';
import {
  errorResponses,
  type OpenapiObject,
  pathParameters,
  queryParameters,
  schemaOf,
} from '../wire/openapi-parts.ts';
import { type AnyPageRoute, isChange, pageRoute } from './page-route.ts';
import { pageErrorShape } from './shapes.ts';

/**
 * The OpenAPI 3.1 document of what a machine may do with an operator's token, from the rows only
 * (spec:operator/1.21).
 */
function tokenOpenapi(rows: readonly AnyPageRoute[]): OpenapiObject {
  const paths: Record<string, OpenapiObject> = {};
  for (const row of rows.filter(({ credential }) => credential === 'session'))
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operation(row) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Naru for operators',
      version: '1.0.0',
      description:
        'The acts and reads of operators, for machines. `x-role` is the least role of the token. A change that is sent again with its `Idempotency-Key` takes effect once and gets the same response.',
    },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(pageErrorShape, 'output') },
    },
  };
}

/** The document of the other rows of the console, made with the first request. */
export function openapiPage(rows: readonly AnyPageRoute[]) {
  let document: OpenapiObject | null = null;
  return pageRoute({
    method: 'GET',
    path: '/console/api/openapi.json',
    summary: 'The OpenAPI document of these rows',
    response: z.looseObject({ openapi: z.string() }),
    handle: () => {
      document ??= tokenOpenapi(rows);
      return { openapi: '3.1.0', ...document };
    },
  });
}

function operation(row: AnyPageRoute): OpenapiObject {
  return {
    operationId: operationId(row),
    summary: row.summary,
    'x-role': row.role ?? 'viewer',
    security: [{ bearer: [] }],
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

/** `GET /console/api/keys/{hash}` is `get_keys_hash`. */
function operationId({ method, path }: { readonly method: string; readonly path: string }): string {
  const parts = path.split(/[^A-Za-z0-9]+/).filter((part) => !['', 'console', 'api'].includes(part));
  return [method.toLowerCase(), ...parts].join('_');
}

function keyParameter({ method }: AnyPageRoute): readonly OpenapiObject[] {
  if (!isChange(method)) return [];
  return [
    { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string', format: 'uuid' } },
  ];
}

/** The possible failures of each status. */
function failuresOf(row: AnyPageRoute): ReadonlyMap<number, readonly string[]> {
  const failures: readonly (Failure | PageFailure)[] = [
    'invalid_token',
    'too_many_attempts',
    'server',
    'reading_too_slow',
    ...(row.role === undefined ? [] : (['role_required'] as const)),
    ...(row.query === undefined && row.body === undefined ? [] : (['invalid_request'] as const)),
    ...(row.path.includes('{') ? (['not_found'] as const) : []),
    ...(isChange(row.method) ? changeFailures : []),
    ...(row.body === undefined ? [] : (['too_large'] as const)),
    ...(row.format === 'stream' ? (['too_many_watchers'] as const) : []),
  ];
  return Map.groupBy(failures, statusOf);
}

const changeFailures = [
  'idempotency_key_required',
  'idempotency_conflict',
  'change_in_progress',
  'conflict',
  'outcome_unknown',
] as const;

function statusOf(failure: Failure | PageFailure): number {
  return failure in pageFailures
    ? pageFailures[failure as PageFailure]
    : catalogue[failure as Failure].status;
}
