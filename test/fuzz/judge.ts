import assert from 'node:assert/strict';
import { z } from 'zod';
import type { RawResponse } from '../harness/raw-client.ts';
import { assertCommonHeaders, assertError } from '../harness/response-rules.ts';
import { eventsOf } from '../harness/stream.ts';
import type { Operation } from './document.ts';
import type { Drawn } from './draw.ts';
import { faultyModels } from './world.ts';

/** The kind of a response, for the counts and the ledger. */
export interface Judged {
  /** The operation that responded: not always the drawn one. Null: none of the document. */
  readonly operation: Operation | null;
  readonly status: number;
  readonly errorType: string | null;
  /**
   * Of a successful generation: its id and its cost, micro-won; the cost is null when it ended with
   * an error.
   */
  readonly generation: { readonly id: string; readonly costMicro: bigint | null } | null;
}

/** Statuses that the faults of an upstream cause. */
const upstreamFaults: ReadonlySet<number> = new Set([408, 502, 503]);
/** Errors of a request that reached no operation, or not its own. */
const always: ReadonlySet<string> = new Set(['404 not_supported', '405 not_supported']);

/** Fails unless the document allows the response for the request; returns its kind. */
export function judge(drawn: Drawn, response: RawResponse | null, operations: readonly Operation[]): Judged {
  if (response === null) {
    assert.ok(drawn.unreadable, 'the connection was closed without a response');
    return { operation: null, status: 0, errorType: null, generation: null };
  }
  const headers = new Headers(response.headers.map(([name, value]): [string, string] => [name, value]));
  const { status, body: text } = response;
  assertCommonHeaders({ headers });
  assert.deepEqual(response.all('x-service-currency'), ['KRW']);
  assert.doesNotMatch(JSON.stringify(response.headers), /X-Injected/i);
  const operation = operationOf(drawn, operations);
  if (status === 204) {
    assert.equal(drawn.method, 'OPTIONS');
    assert.ok(headers.get('allow')?.includes('OPTIONS'));
    return { operation: null, status, errorType: null, generation: null };
  }
  if (drawn.method === 'HEAD') {
    assert.equal(text, '');
    return { operation: null, status, errorType: null, generation: null };
  }
  if (status >= 400) {
    const { error } = JSON.parse(text);
    const errorType = String(error?.metadata?.error_type);
    assertError({ status, headers, text, json: JSON.parse(text) }, status, errorType);
    assertAllowed(drawn, operation, status, errorType, text);
    return { operation, status, errorType, generation: null };
  }
  assert.ok(operation !== null, `${status} for a request that is no operation`);
  return { operation, status, errorType: null, generation: judgeSuccess(operation, status, headers, text) };
}

function assertAllowed(
  drawn: Drawn,
  operation: Operation | null,
  status: number,
  errorType: string,
  text: string,
): void {
  assert.doesNotMatch(
    text,
    /\bat .*\.ts:\d|node_modules|ECONN|postgres|SELECT |127\.0\.0\.1/,
    'the response shows internal details',
  );
  if (upstreamFaults.has(status)) assert.ok(mayFail(drawn), `${status} although the upstream works`);
  else assert.ok(status < 500, `${status} ${text}`);
  if (drawn.unreadable && (status === 400 || status === 401)) return;
  if (always.has(`${status} ${errorType}`)) return;
  assert.ok(operation !== null, `${status} ${errorType} for a request that is no operation`);
  const shape = operation.responses.get(status);
  assert.ok(shape !== undefined, `${status} is not documented for ${operation.name}: ${text}`);
  assertShape(shape, JSON.parse(text));
}

function judgeSuccess(
  operation: Operation,
  status: number,
  headers: Headers,
  text: string,
): Judged['generation'] {
  const id = headers.get('x-service-generation-id');
  if (headers.get('content-type')?.startsWith('text/event-stream')) {
    assert.ok(operation.event !== null && id !== null);
    const events = eventsOf(text);
    assert.equal(events.at(-1)?.data, '[DONE]');
    for (const event of events) if (event.json !== null) assertShape(operation.event, event.json);
    const failed = events.some((event) => event.json?.error !== undefined);
    const cost = events.findLast((event) => event.json?.usage !== undefined)?.json.usage.cost;
    assert.ok(failed || typeof cost === 'number', 'a stream without its cost');
    return { id, costMicro: failed ? null : microOf(cost) };
  }
  const shape = operation.responses.get(status);
  assert.ok(shape !== undefined, `${status} is not documented for ${operation.name}`);
  const json = JSON.parse(text);
  assertShape(shape, json);
  if (operation.event === null) return null;
  assert.ok(
    id !== null && headers.get('x-service-model') !== null && headers.get('x-service-provider') !== null,
  );
  return { id, costMicro: microOf(json.usage.cost) };
}

/** The operation at the method and path of the request, read as a server without tricks would. */
function operationOf(drawn: Drawn, operations: readonly Operation[]): Operation | null {
  const path = drawn.path.replace(/^http:\/\/evil\.example/, '').replace(/(?<=.)\/$/, '');
  const method = drawn.method === 'HEAD' ? 'GET' : drawn.method;
  const at = operations.filter((each) => each.method === method);
  return at.find((each) => each.path === path) ?? at.find((each) => patternOf(each.path).test(path)) ?? null;
}

const patterns = new Map<string, RegExp>();

function patternOf(path: string): RegExp {
  const known = patterns.get(path) ?? new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  patterns.set(path, known);
  return known;
}

function mayFail({ body }: Drawn): boolean {
  const text = Buffer.isBuffer(body) ? body.toString('latin1') : JSON.stringify(body ?? '');
  return faultyModels.some((model) => text.includes(model));
}

function assertShape(shape: z.ZodType, value: unknown): void {
  const parsed = shape.safeParse(value);
  if (!parsed.success)
    assert.fail(
      `differs from the document:\n${z.prettifyError(parsed.error)}\n${JSON.stringify(value).slice(0, 1000)}`,
    );
}

function microOf(won: number): bigint {
  return BigInt(Math.round(won * 1e6));
}
