import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { errorBodyMs } from '../../../src/inference/read-response.ts';
import type { SendOptions, TestGateway, TestResponse } from '../../harness/gateway.ts';
import { type AccountLedger, ledgerOf } from '../../harness/read-ledger.ts';
import {
  assertBrokenStream,
  assertChatResponse,
  assertCommonHeaders,
  assertCompleteStream,
  assertError,
} from '../../harness/response-rules.ts';
import { eventsOf, textOf } from '../../harness/stream.ts';
import { scaledLimit } from '../../harness/time-limit.ts';
import type { Count, Expected, Takes } from './fault.ts';
import { budgets, priceE7, rescue, type World, type WorldState } from './world.ts';

/** One fault, with one kind of request and one or three candidates. */
export interface Cell {
  readonly standing: WorldState;
  readonly stream: boolean;
  readonly candidates: 1 | 3;
}

/** What became of a cell. */
export interface Verdict {
  readonly cell: Cell;
  readonly tag: string;
  readonly tookMs: number;
  /** Its time limit, without the margin. */
  readonly limitMs: number;
  readonly requestId: string | null;
  /** Everything that is not as it must be. */
  readonly faults: string[];
}

/**
 * How long sockets and timers may remain after the client has its response, milliseconds at scale
 * 1.
 */
const restMs = 2_000;
/** A response that takes so much longer than its time limit never arrives. */
const hangMs = 30_000;
const prompt = 'What is the state of the ferry at 나루?';
const canary = 'canary-7f3a';

/** Sends one request and checks the client's view, its duration, and leftover resources. */
export async function runCell(world: World, cell: Cell, marginMs: number, attempt = 1): Promise<Verdict> {
  const { naru } = world;
  const { standing, stream, candidates } = cell;
  const { fault, account, models } = standing;
  // Each cell has new candidates: the effects of the one before would change their order.
  naru.gateway.health.keepOnly(new Set());
  const tag = `https://${canary}.test/${stream ? 'stream' : 'whole'}/${candidates}/${attempt}`;
  const faults: string[] = [];
  const [leastMs, limitMs] = timeOf(cell, world.scale);
  const startedMs = performance.now();
  const response = await send(naru, {
    key: account.key,
    signal: AbortSignal.timeout(limitMs + hangMs),
    headers: {
      'http-referer': tag,
      'user-agent': `agent-${canary}`,
      cookie: `session=${canary}`,
      'x-api-key': canary,
      'openai-organization': canary,
      'x-forwarded-for': '203.0.113.77',
      [`x-${canary}`]: canary,
    },
    body: {
      model: candidates === 1 ? models.one : models.three,
      messages: [{ role: 'user', content: prompt }],
      stream,
      ...fault.request,
    },
  });
  const tookMs = performance.now() - startedMs;
  if (response instanceof Error) {
    faults.push(`no response: ${response.message} ${String(response.cause ?? '')}`.slice(0, 600));
    return { cell, tag, tookMs, limitMs, requestId: null, faults };
  }
  const check = (what: () => void): void => {
    try {
      what();
    } catch (error) {
      faults.push(String(error instanceof Error ? error.message : error).slice(0, 600));
    }
  };
  check(() => judge(response, cell));
  check(() => fault.look?.(response, stream));
  check(() =>
    assert.ok(tookMs <= limitMs + marginMs, `took ${Math.round(tookMs)} ms, limit ${limitMs} + ${marginMs}`),
  );
  check(() => assert.ok(tookMs >= leastMs * 0.95, `took ${Math.round(tookMs)} ms, at least ${leastMs}`));
  if (!(await isAtRest(() => standing.site.busy === 0, restMs * world.scale)))
    faults.push(`${standing.site.busy} connections to the upstream are neither closed nor idle`);
  return { cell, tag, tookMs, limitMs, requestId: response.headers.get('x-service-request-id'), faults };
}

/**
 * Sends a request to the working upstream with the key of a fault: fails unless the gateway still
 * serves, and no cell has left its reservation, which exceeds the limit of the key.
 */
export async function probe(world: World, standing: WorldState): Promise<string | null> {
  const response = await send(world.naru, {
    signal: AbortSignal.timeout(hangMs),
    key: standing.account.key,
    body: { model: 'test/good', messages: [{ role: 'user', content: prompt }] },
  });
  if (response instanceof Error) return `the request after it: ${response.message}`;
  return response.status === 200
    ? null
    : `the request after it: ${response.status} ${response.text.slice(0, 200)}`;
}

/** The response, or why there was none. */
function send(naru: TestGateway, options: SendOptions): Promise<TestResponse | Error> {
  return naru.send('POST', '/chat/completions', options).catch((error: Error) => error);
}

/** Polls until it holds; false at the limit. */
export async function isAtRest(isSo: () => boolean, limitMs: number): Promise<boolean> {
  const beganMs = performance.now();
  while (!isSo()) {
    if (performance.now() - beganMs > scaledLimit(limitMs)) return false;
    await sleep(5);
  }
  return true;
}

/** The expected end of a cell, candidates considered. */
function endOf({ standing, stream, candidates }: Cell): {
  readonly expected: Expected;
  readonly isRescued: boolean;
} {
  const expected = stream ? standing.fault.stream : standing.fault.whole;
  // The total is one for the request: where it ends a candidate, no other is tried.
  const isRescued = expected.kind === 'failed' && candidates === 3 && takesOf(standing, stream) !== 'total';
  return { expected, isRescued };
}

/** What a cell has to wait for. */
function takesOf({ fault }: WorldState, stream: boolean): Takes {
  const { takes = 'nothing' } = fault;
  return typeof takes === 'string' ? takes : takes[stream ? 0 : 1];
}

/**
 * The minimum and the maximum duration of a cell: the limits it has to wait for, else the budget of
 * the whole chain.
 */
function timeOf(cell: Cell, scale: number): readonly [leastMs: number, limitMs: number] {
  const one = takesOf(cell.standing, cell.stream);
  if (one === 'nothing') return [0, budgets.all * scale];
  const waits = endOf(cell).isRescued ? 2 : 1;
  const oneMs = one === 'errorBody' ? Math.min(errorBodyMs, budgets.firstByte * scale) : budgets[one] * scale;
  return [oneMs * waits, oneMs * waits];
}

/** Fails unless the response is the expected one of the fault (spec:errors/2-4,6,8). */
function judge(response: TestResponse, cell: Cell): void {
  const { expected, isRescued } = endOf(cell);
  if (isRescued) {
    assertContent(response, cell.stream, rescue.text);
    assert.equal(response.headers.get('x-service-provider'), 'good');
    return;
  }
  switch (expected.kind) {
    case 'failed': {
      const metadata =
        expected.code === 'timeout'
          ? assertError(response, 408, 'timeout')
          : assertError(response, 502, 'provider_error');
      if (expected.code !== 'timeout')
        assert.equal(metadata['provider_code'], expected.code, 'provider_code');
      return;
    }
    case 'responded':
      assertContent(response, cell.stream, expected.text);
      return;
    case 'broken': {
      assert.equal(response.status, 200, response.text.slice(0, 300));
      assertCommonHeaders(response);
      const events = eventsOf(response.text);
      const error = assertBrokenStream(events, expected.pair);
      assert.equal(
        error['metadata'].provider_code,
        expected.pair === '408 timeout' ? undefined : String(expected.code ?? 200),
      );
      if (expected.text !== '*') assert.equal(textOf(events), expected.text);
      assert.doesNotMatch(response.text.slice(-2000), /"finish_reason":"stop"/);
    }
  }
}

function assertContent(response: TestResponse, stream: boolean, text: string): void {
  assert.equal(response.status, 200, response.text.slice(0, 300));
  assertCommonHeaders(response);
  if (stream) {
    const events = eventsOf(response.text);
    assertCompleteStream(events);
    if (text !== '*') assert.equal(textOf(events), text);
  } else {
    assertChatResponse(response.json);
    if (text !== '*') assert.equal(response.json.choices[0].message.content ?? '', text);
  }
}

/**
 * Compares the ledger of a fault with its cells: one record each, the right charge, every attempt,
 * one request id.
 */
export async function auditLedger(
  world: World,
  standing: WorldState,
  verdicts: readonly Verdict[],
): Promise<void> {
  const ledger = await ledgerOf(world.naru, standing.account);
  for (const verdict of verdicts) {
    try {
      auditCell(verdict, ledger);
    } catch (error) {
      verdict.faults.push(`ledger: ${String(error instanceof Error ? error.message : error).slice(0, 600)}`);
    }
  }
}

function auditCell({ cell, tag, requestId }: Verdict, ledger: AccountLedger): void {
  const { expected, isRescued } = endOf(cell);
  const found = ledger.records.filter((record) => record.http_referer === tag);
  assert.equal(found.length, 1, `${found.length} records`);
  const [record] = found;
  assert.equal(record.request_id, requestId, 'the request id of the record');
  const micro = microOf(cell);
  assert.equal(record.cost_krw, decimalOf(micro), 'the cost on record');
  assert.deepEqual(
    ledger.debits.filter((_, at) => ledger.debitOf[at] === record.id),
    micro === 0n ? [] : [decimalOf(micro)],
    'ledger entries',
  );
  const letters =
    cell.candidates === 3 && takesOf(cell.standing, cell.stream) !== 'total' ? ['a', 'b'] : ['a'];
  const spread = (cell.candidates === 3 ? cell.standing.models.three : cell.standing.models.one).split(
    '/',
  )[1];
  const status = expected.kind === 'failed' ? (expected.code === 'timeout' ? null : expected.code) : 200;
  const tried =
    expected.kind === 'failed'
      ? letters.map((letter) => [`Provider ${letter}${spread}`, status])
      : [[`Provider a${spread}`, 200]];
  if (isRescued) tried.push(['Provider good', 200]);
  assert.deepEqual(
    record.provider_responses.map((each: { provider_name: string; status: number | null }) => [
      each.provider_name,
      each.status,
    ]),
    tried,
    'the attempts on record',
  );
  const [recordStatus, errorType] =
    expected.kind === 'failed' && !isRescued
      ? expected.code === 'timeout'
        ? [408, 'timeout']
        : [502, 'provider_error']
      : [200, expected.kind === 'broken' ? expected.pair.split(' ')[1] : null];
  assert.deepEqual(
    [record.status, record.error_type],
    [recordStatus, errorType],
    'status and error of the record',
  );
}

/** The bill, computed here a second time: exact, rounded once, half up, to the micro-won. */
function microOf(cell: Cell): bigint {
  const { expected, isRescued } = endOf(cell);
  const tokens = isRescued
    ? rescue
    : expected.kind === 'responded'
      ? {
          prompt: countOf(expected.prompt, ownPrompt()),
          completion: countOf(expected.completion, countTokens(expected.text)),
        }
      : { prompt: 0, completion: 0 };
  const e7 = BigInt(tokens.prompt) * priceE7.prompt + BigInt(tokens.completion) * priceE7.completion;
  return (e7 + 5n) / 10n;
}

const ownPrompt = (): number => countTokens(prompt) + 4;

function countOf(count: Count, own: number): number {
  return count === 'counted' ? own : count;
}

function decimalOf(micro: bigint): string {
  const digits = String(micro).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * What an upstream must never receive: values of the client's headers, or another provider's
 * credential.
 */
export function leaksIn(received: readonly Buffer[], ownSecrets: ReadonlySet<string>): readonly string[] {
  const leaks = new Set<string>();
  for (const bytes of received) {
    const text = bytes.toString('latin1');
    for (const foreign of [canary, '203.0.113.77', 'sk-naru-'])
      if (text.includes(foreign)) leaks.add(foreign);
    for (const [secret] of text.matchAll(/secret-[0-9a-f]+-end/g))
      if (!ownSecrets.has(secret)) leaks.add(secret);
  }
  return [...leaks];
}
