import type { z } from 'zod';
import type { Credential } from '../accounts/rules.ts';
import { catalogue, errorTypeOf, type Failure, hasRetryAfter } from '../errors/catalogue.ts';
import {
  errorResponses,
  type OpenapiObject,
  pathParameters,
  queryParameters,
  schemaOf,
} from '../wire/openapi-parts.ts';
import { errorShape } from '../wire/shapes/error.ts';
import type { Bilingual, RouteDocument } from './document.ts';
import type { AnyRoute } from './route.ts';

type Language = keyof Bilingual;

const apiPrefix = '/api/v1';

/**
 * The OpenAPI 3.1 document of the documented routes, in one language. Derived from the rows only.
 */
export function openapi(
  routes: readonly AnyRoute[],
  about: { readonly version: string; readonly language: Language },
): OpenapiObject {
  const paths: Record<string, OpenapiObject> = {};
  for (const route of routes) {
    if (route.document === undefined || !route.path.startsWith(apiPrefix)) continue;
    const path = route.path.slice(apiPrefix.length);
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operation(route, route.document, about.language),
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Naru', version: about.version, description: introduction[about.language] },
    servers: [{ url: apiPrefix }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(errorShape, 'output') },
    },
  };
}

const introduction: Bilingual = {
  ko: 'OpenAI 호환 추론 API. 모든 금액은 원(KRW)이며 소수 여섯 자리까지 정확합니다. 오류는 `error.metadata.error_type`으로 구분해 주세요.',
  en: 'An OpenAI-compatible inference API. All amounts are in won (KRW), exact to six decimals. Distinguish errors by `error.metadata.error_type`.',
};

const credentialFailures: Readonly<Record<Credential, readonly Failure[]>> = {
  none: [],
  inference: ['invalid_api_key', 'expired_api_key', 'insufficient_credits', 'key_suspended'],
  management: ['invalid_api_key', 'expired_api_key', 'insufficient_credits', 'key_suspended'],
  either: ['invalid_api_key', 'expired_api_key', 'insufficient_credits', 'key_suspended'],
};

function operation(route: AnyRoute, document: RouteDocument, language: Language): OpenapiObject {
  const { response, event } = document;
  const content: OpenapiObject = { 'application/json': { schema: schemaOf(response.shape, 'output') } };
  if (event !== undefined) content['text/event-stream'] = { schema: schemaOf(event, 'output') };
  return {
    operationId: operationId(route),
    summary: document.summary[language],
    description: document.description[language],
    security: route.credential === 'none' ? [] : [{ bearer: [] }],
    parameters: [...pathParameters(route.path), ...queryParameters(document.query)],
    ...(document.body === undefined
      ? {}
      : { requestBody: requestBody(document.body, document.example?.body) }),
    responses: {
      [response.status]: { description: 'OK', content },
      ...responsesOf(failuresOf(route.credential, document)),
    },
  };
}

/** `GET /keys/{hash}` is `get_keys_hash`. */
function operationId(route: AnyRoute): string {
  const parts = route.path.slice(apiPrefix.length).split(/[^A-Za-z0-9]+/);
  return [route.method.toLowerCase(), ...parts].filter((part) => part !== '').join('_');
}

function requestBody(body: z.ZodType, example: object | undefined): OpenapiObject {
  const media = { schema: schemaOf(body, 'input'), ...(example === undefined ? {} : { example }) };
  return { required: true, content: { 'application/json': media } };
}

function failuresOf(credential: Credential, document: RouteDocument): readonly Failure[] {
  return [
    ...credentialFailures[credential],
    ...document.failures,
    'rate_limit_exceeded',
    'server',
    ...(credential === 'none' ? [] : (['database_away'] as const)),
  ];
}

/** One response for each status, with its error types, and with the header that some of them have. */
function responsesOf(failures: readonly Failure[]): OpenapiObject {
  const byStatus = Map.groupBy(failures, (failure) => catalogue[failure].status);
  const types = [...byStatus].map(([status, some]) => [status, new Set(some.map(errorTypeOf))] as const);
  return Object.fromEntries(
    Object.entries(errorResponses(new Map(types))).map(([status, response]) => [
      status,
      byStatus.get(Number(status))?.some(hasRetryAfter)
        ? { ...response, headers: { 'Retry-After': retryAfterHeader } }
        : response,
    ]),
  );
}

const retryAfterHeader: OpenapiObject = {
  schema: { type: 'integer', minimum: 1 },
  description: 'Seconds until a retry may succeed; present if `error.metadata.retry_after_sec` is',
};
