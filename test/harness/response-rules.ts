import assert from 'node:assert/strict';
import type { TestResponse } from './gateway.ts';
import type { StreamEvent } from './stream.ts';

/**
 * The pairs of spec:errors/2, written down a second time on purpose: the catalogue is what they
 * check.
 */
export const errorPairs: ReadonlySet<string> = new Set([
  '400 invalid_request',
  '400 model_not_found',
  '401 invalid_api_key',
  '401 expired_api_key',
  '402 insufficient_credits',
  '402 key_limit_exceeded',
  '403 key_suspended',
  '404 no_endpoints_found',
  '404 not_supported',
  '405 not_supported',
  '408 timeout',
  '429 rate_limit_exceeded',
  '500 server',
  '502 provider_error',
  '503 model_loading',
]);

const retryable = new Set(['timeout', 'rate_limit_exceeded', 'server', 'provider_error', 'model_loading']);

/** What holds for every response (spec:conformance/1,2,11,256). */
export function assertCommonHeaders({ headers }: Pick<TestResponse, 'headers'>): void {
  assert.equal(headers.get('x-service-currency'), 'KRW');
  assert.match(headers.get('x-service-request-id') ?? '', /^[A-Za-z0-9_-]{8,64}$/);
  assert.equal(headers.get('x-request-id'), headers.get('x-service-request-id'));
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-allow-credentials'), null);
  assert.equal(headers.get('x-powered-by'), null);
  assert.equal(headers.get('server'), null);
}

/**
 * Fails unless the response is this error in the one shape of errors
 * (spec:conformance/5,7-11,13,14); returns its metadata.
 */
export function assertError(
  response: TestResponse,
  status: number,
  errorType: string,
): Record<string, unknown> {
  assert.equal(response.status, status, response.text);
  assertCommonHeaders(response);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json(;|$)/);
  const { error, ...rest } = response.json;
  assert.deepEqual(rest, {});
  assert.equal(error.code, status);
  assert.equal(typeof error.message, 'string');
  assert.notEqual(error.message.trim(), '');
  assert.equal(error.metadata.error_type, errorType);
  assert.ok(errorPairs.has(`${status} ${errorType}`), `${status} ${errorType}`);
  const retryAfter = error.metadata.retry_after_sec;
  assert.equal(response.headers.get('retry-after'), retryAfter === undefined ? null : String(retryAfter));
  // Every candidate rejected the request itself: then the upstream's own message is included.
  const canHelp = retryable.has(errorType) && !('upstream_message' in error.metadata);
  assert.equal(response.headers.get('x-should-retry'), canHelp ? null : 'false');
  return error.metadata;
}

/**
 * Members that may be null anywhere in a response; a null elsewhere makes a strict client throw
 * (spec:compat/3.2).
 */
const nullable = new Set([
  'content',
  'refusal',
  'reasoning',
  'logprobs',
  'finish_reason',
  'native_finish_reason',
  'system_fingerprint',
  'upstream_inference_cost',
]);
const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter', 'error'];

/** Fails when a chat response breaks a rule of spec:compat/3. */
export function assertChatResponse(response: Json): void {
  assertEnvelope(response, 'chat.completion');
  assertNulls(response, '');
  assert.ok('system_fingerprint' in response, 'system_fingerprint must be there, if null');
  assert.ok(response['choices'].length > 0);
  for (const choice of response['choices']) {
    assertChoice(choice);
    const { message } = choice;
    assert.equal(message.role, 'assistant');
    for (const name of ['content', 'refusal', 'reasoning']) assert.ok(name in message, name);
    for (const call of message.tool_calls ?? []) {
      assert.equal(call.type, 'function');
      assert.equal(typeof call.id, 'string');
      assert.equal(typeof call.function.name, 'string');
      assert.equal(typeof call.function.arguments, 'string');
    }
  }
  assertUsage(response['usage']);
}

/** Fails when a chunk of a chat stream breaks a rule of spec:compat/3. */
export function assertChatChunk(chunk: Json): void {
  assertEnvelope(chunk, 'chat.completion.chunk');
  assertNulls(chunk, '');
  if ('system_fingerprint' in chunk) assert.equal(typeof chunk['system_fingerprint'], 'string');
  for (const choice of chunk['choices']) {
    assertChoice(choice);
    if ('role' in choice.delta) assert.equal(choice.delta.role, 'assistant');
    for (const call of choice.delta.tool_calls ?? []) {
      assert.ok(Number.isInteger(call.index));
      assert.equal(typeof call.function, 'object');
      for (const value of Object.values(call.function)) assert.equal(typeof value, 'string');
    }
  }
  if ('usage' in chunk) assertUsage(chunk['usage']);
  if ('error' in chunk) assertInBandError(chunk);
}

/**
 * Fails when a whole text completion, or a chunk of a streamed one, breaks a rule of spec:compat/6.
 */
export function assertTextResponse(response: Json): void {
  assertEnvelope(response, 'text_completion');
  assertNulls(response, '');
  for (const choice of response['choices']) {
    assertChoice(choice);
    assert.equal(typeof choice.text, 'string');
  }
  if ('usage' in response) assertUsage(response['usage']);
}

/**
 * Fails unless the events are a complete chat stream: spec:conformance/202,203 and spec:compat/3;
 * returns the usage chunk.
 */
export function assertCompleteStream(events: readonly StreamEvent[]): Json {
  assert.equal(events.filter((event) => event.data === '[DONE]').length, 1);
  assert.equal(events.at(-1)?.data, '[DONE]');
  const chunks = events.slice(0, -1).map((event) => event.json);
  for (const chunk of chunks) assertChatChunk(chunk);
  assertRoles(chunks);
  assert.deepEqual(
    chunks.flatMap((chunk, at) => ('usage' in chunk ? [at] : [])),
    [chunks.length - 1],
    'exactly one usage chunk, the last',
  );
  return chunks.at(-1);
}

/** Fails unless the first delta of each choice has the role, and no other one (spec:compat/3.5). */
function assertRoles(chunks: readonly Json[]): void {
  const begun = new Set<number>();
  for (const { index, delta } of chunks.flatMap((chunk) => chunk['choices'])) {
    assert.equal('role' in delta, !begun.has(index), `choice ${index}: ${JSON.stringify(delta)}`);
    begun.add(index);
  }
}

/**
 * Fails unless the events end as spec:errors/6 requires for an error in a stream
 * (spec:conformance/205-208); returns the error.
 */
export function assertBrokenStream(events: readonly StreamEvent[], pair: string): Json {
  assert.equal(events.at(-1)?.data, '[DONE]');
  assert.deepEqual(
    events.slice(0, -1).flatMap((event, at) => ('error' in event.json ? [at] : [])),
    [events.length - 2],
    'exactly one error chunk, the last before [DONE]',
  );
  const chunk = events.at(-2)?.json;
  assertInBandError(chunk);
  assert.equal(`${chunk.error.code} ${chunk.error.metadata.error_type}`, pair);
  return chunk.error;
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
type Json = Record<string, any>;

function assertInBandError(chunk: Json): void {
  const { error } = chunk;
  assert.ok(Number.isInteger(error.code));
  assert.notEqual(error.message, '');
  assert.ok(errorPairs.has(`${error.code} ${error.metadata.error_type}`));
  if (error.metadata.error_type === 'provider_error')
    assert.equal(typeof error.metadata.provider_code, 'string');
  assert.ok(chunk['choices'].some((choice: Json) => choice['finish_reason'] === 'error'));
}

function assertEnvelope(response: Json, object: string): void {
  assert.match(response['id'], /^gen-\d{10}-[0-9A-Za-z]{15}$/);
  assert.equal(response['object'], object);
  assert.ok(
    Number.isSafeInteger(response['created']) && response['created'] > 1e9 && response['created'] < 1e10,
  );
  for (const name of ['model', 'provider'])
    assert.ok(typeof response[name] === 'string' && response[name] !== '', name);
  assert.ok(Array.isArray(response['choices']));
}

function assertChoice(choice: Json): void {
  assert.ok(Number.isInteger(choice['index']));
  for (const name of ['finish_reason', 'native_finish_reason', 'logprobs']) assert.ok(name in choice, name);
  if (choice['finish_reason'] !== null)
    assert.ok(finishReasons.includes(choice['finish_reason']), choice['finish_reason']);
}

function assertUsage(usage: Json): void {
  const counts = [
    usage['prompt_tokens'],
    usage['completion_tokens'],
    usage['total_tokens'],
    usage['prompt_tokens_details'].cached_tokens,
    usage['prompt_tokens_details'].cache_write_tokens,
    usage['prompt_tokens_details'].audio_tokens,
    usage['prompt_tokens_details'].video_tokens,
    usage['completion_tokens_details'].reasoning_tokens,
    usage['completion_tokens_details'].image_tokens,
    usage['completion_tokens_details'].audio_tokens,
  ];
  for (const count of counts) assert.ok(Number.isSafeInteger(count) && count >= 0, JSON.stringify(usage));
  assert.equal(usage['total_tokens'], usage['prompt_tokens'] + usage['completion_tokens']);
  assert.equal(usage['is_byok'], false);
  const { cost, cost_details: details } = usage;
  for (const money of [
    cost,
    details.upstream_inference_prompt_cost,
    details.upstream_inference_completions_cost,
  ])
    assert.ok(typeof money === 'number' && money >= 0);
  assert.equal(details.upstream_inference_cost, null);
}

/** Upstream values inside logprobs, tool arguments and reasoning details are the upstream's own. */
const opaque = new Set(['logprobs', 'reasoning_details', 'annotations']);

function assertNulls(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (member === null) assert.ok(nullable.has(name), `${path}/${name} is null`);
    else if (!opaque.has(name)) assertNulls(member, `${path}/${name}`);
  }
}
