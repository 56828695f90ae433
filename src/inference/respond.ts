import type { LimitsConfig } from '../config/config.ts';
import { Refusal, refuse, renderRefusal } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected, ServerStopping } from '../errors/request-aborted.ts';
import type { CountTexts } from '../metering/count-tokens.ts';
import { type Priced, priceResponse } from '../metering/price-response.ts';
import { ClaimBounds } from '../metering/reconcile-usage.ts';
import { maxAfterEnd, ResponseTotals } from '../metering/response-totals.ts';
import { zeroKrw } from '../money/krw.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import {
  type ChunkChoice,
  type CompletionRequest,
  hasContent,
  type ResponseChunk,
  type ToolCallDelta,
  withoutReasoning,
} from '../wire/chat.ts';
import type { Receiver } from '../wire/receiver.ts';
import type { JsonReply, StreamReply, StreamSink } from '../wire/reply.ts';
import {
  ChunkWriter,
  type Envelope,
  reasoningContent,
  type WholeChoice,
  wholeBody,
} from '../wire/response.ts';
import { doneData, sseEvent, sseKeepAlive } from '../wire/sse.ts';
import { type Usage, usageBody } from '../wire/usage.ts';
import type { CompletionSizes } from './estimate.ts';
import type { OpenResponse } from './outcome.ts';
import type { Session } from './session.ts';
import { timeoutOf, UpstreamStreamError, Watchdog } from './time-limits.ts';
import { callIdOf, reasonFor, ToolCalls } from './tool-calls.ts';

/** What every response needs of the gateway. */
export interface ResponseParts {
  readonly clock: Clock;
  readonly chain: { readonly health: Health; readonly limits: () => LimitsConfig };
  readonly sizes: CompletionSizes;
  /** Our own count of texts. */
  readonly count: CountTexts;
}

/** A request whose candidate has responded. */
export interface ResponseContext {
  readonly parts: ResponseParts;
  readonly session: Session;
  readonly request: CompletionRequest;
  readonly response: OpenResponse;
}

/**
 * The headers of a successful response (spec:api/4.3): the candidate that responded, and the
 * generation's id.
 */
export function responseHeaders({ session, response }: ResponseContext): Readonly<Record<string, string>> {
  return {
    'X-Service-Generation-Id': session.id,
    'X-Generation-Id': session.id,
    'X-Service-Model': inAscii(response.candidate.modelId),
    'X-Service-Provider': inAscii(response.candidate.providerTag),
  };
}

/** An id may contain Hangul, a header only ASCII; no id contains a percent sign. */
function inAscii(id: string): string {
  return id.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** The members that every object of the response has. */
export function envelopeOf({ session, request, response }: ResponseContext): Envelope {
  return {
    kind: request.kind,
    id: session.id,
    created: Math.floor(session.createdAtMs / 1000),
    model: response.candidate.modelId,
    provider: response.candidate.providerName,
  };
}

/**
 * Records how the candidate's response ended; called once. `broken`: the upstream failed, or
 * reported an error.
 */
export function noteEnd(
  { parts: { clock, chain, sizes }, request, response }: ResponseContext,
  { completionTokens }: Usage,
  broken: boolean,
): void {
  // The length of a broken response says nothing about the next one.
  if (!broken) sizes.note(response.candidate.modelId, Math.ceil(completionTokens / request.choices));
  const tookMs = clock.monotonic() - response.sentAtMs;
  chain.health.ended(response.candidate.label, { broken, tokens: completionTokens, tookMs });
}

/**
 * Responds with a whole object: priced, settled durably, then sent (spec:money/5.1). A client that
 * has left pays nothing.
 */
export async function respondJson(context: ResponseContext): Promise<JsonReply> {
  const { session, response, request } = context;
  const totals = new ResponseTotals(new ClaimBounds(request, response.candidate), context.parts.count);
  const chunks = response.take();
  for (const chunk of chunks) totals.take(chunk);
  response.close();
  const priced = priceResponse(request, response.candidate, totals, context.parts.count);
  const { usage, source, bill } = priced instanceof Promise ? await priced : priced;
  noteEnd(context, usage, false);
  const { signal } = session.exchange;
  if (signal.aborted) throw signal.reason;
  await session.end({
    status: 200,
    errorType: null,
    candidate: response.candidate,
    totals,
    usage,
    usageSource: source,
    cost: bill.cost,
    cancelled: false,
  });
  return {
    headers: responseHeaders(context),
    body: wholeBody(envelopeOf(context), {
      choices: chunks
        .flatMap((chunk) => chunk.choices)
        .map((choice) => wholeChoice(request.hidesReasoning ? withoutReasoning(choice) : choice, session.id)),
      usage: usageBody(usage, bill),
      systemFingerprint: totals.systemFingerprint,
      serviceTier: totals.serviceTier,
      readsFunctionCalls: request.readsFunctionCalls,
    }),
  };
}

/**
 * A message always has content, refusal and reasoning; the other members only when the candidate
 * sent them.
 */
function wholeChoice(choice: ChunkChoice, generationId: string): WholeChoice {
  const { index, delta, finish_reason, native_finish_reason, logprobs } = choice;
  const { content, refusal, reasoning, tool_calls: calls, ...rest } = delta;
  return {
    index,
    message: {
      role: 'assistant',
      content: content ?? null,
      refusal: refusal ?? null,
      reasoning: reasoning ?? null,
      ...reasoningContent(reasoning),
      ...(calls === undefined
        ? {}
        : { tool_calls: calls.map((call, at) => wholeCall(call, at, callIdOf(generationId, index, at))) }),
      ...rest,
    },
    // Content of a whole response is complete. A choice without content and reason stays without a
    // reason.
    finishReason: finish_reason ?? (hasContent(delta) ? reasonFor(calls !== undefined) : null),
    nativeFinishReason: native_finish_reason,
    logprobs,
  };
}

/**
 * A call always has an id, a name and arguments: strict clients require them, and some engines omit
 * them.
 */
function wholeCall(call: ToolCallDelta, index: number, defaultId: string): object {
  const { name = '', arguments: args = '{}' } = call.function;
  return { index, id: call.id ?? defaultId, type: 'function', function: { name, arguments: args } };
}

const done = sseEvent(doneData);

/** Responds with a stream. From here on every error is an event of the stream (spec:errors/6). */
export function respondStream(context: ResponseContext): StreamReply {
  return { headers: responseHeaders(context), stream: (sink) => relay(context, sink) };
}

/** Relays the response and settles it, however it ends. Never throws. */
async function relay(context: ResponseContext, sink: StreamSink): Promise<void> {
  const { parts, session, request, response } = context;
  const totals = new ResponseTotals(new ClaimBounds(request, response.candidate), parts.count);
  const { systemFingerprint, serviceTier } = response;
  const { hidesReasoning, readsFunctionCalls } = request;
  const writer = new ChunkWriter(envelopeOf(context), {
    systemFingerprint,
    serviceTier,
    hidesReasoning,
    readsFunctionCalls,
  });
  const silence = new Watchdog(
    parts.clock,
    parts.chain.limits().keepAliveCommentMs,
    () => void sink.write(sseKeepAlive),
  );
  const toolCalls = new ToolCalls(session.id);
  const stream: RelayedStream = { totals, writer, toolCalls, sink, silence, withheld: '' };
  let end: string;
  try {
    await relayChunks(context, stream);
    end = await complete(context, stream);
  } catch (thrown) {
    if (thrown instanceof ClientDisconnected) end = await endCancelled(context, totals);
    else if (thrown instanceof Refusal)
      end = `${await endCancelled(context, totals)}${errorEvent(writer, thrown)}`;
    else end = await endFailed(context, { totals, writer, thrown });
  } finally {
    silence.stop();
    response.close();
  }
  await sink.write(end);
}

/** The state of a response that is being relayed. */
interface RelayedStream {
  readonly totals: ResponseTotals;
  readonly writer: ChunkWriter;
  readonly toolCalls: ToolCalls;
  readonly sink: StreamSink;
  readonly silence: Watchdog;
  /** The events that complete the response: not sent until it is settled. */
  withheld: string;
}

/** Relays chunks as they arrive; resolves at the end of the response. */
function relayChunks(context: ResponseContext, stream: RelayedStream): Promise<void> {
  return new Promise((resolve, reject) => new Relaying(context, stream, { resolve, reject }).begin());
}

/** Called once, when a response has been relayed. */
interface Over {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A response that is being relayed. Thousands of streams wait in here for nearly all of their life, so
 * it keeps nothing of what was relayed.
 */
class Relaying implements Receiver<readonly ResponseChunk[]> {
  readonly #context: ResponseContext;
  readonly #stream: RelayedStream;
  readonly #over: Over;

  constructor(context: ResponseContext, stream: RelayedStream, over: Over) {
    this.#context = context;
    this.#stream = stream;
    this.#over = over;
  }

  begin(): void {
    this.take(this.#context.response.take());
    // What came before the first content is with the sink.
    this.#context.session.exchange.memory?.setBytes('answer', 0);
  }

  take(chunks: readonly ResponseChunk[] | null): void {
    if (chunks === null) return void this.#over.resolve();
    try {
      const drained = writeChunks(this.#context, this.#stream, chunks);
      // The upstream waits meanwhile: its text does not arrive faster than it is counted.
      const counting = this.#stream.totals.text.countPieces();
      if (drained === undefined && counting === null) this.#readNext();
      else
        Promise.all([drained, counting])
          .then(() => this.#readNext())
          .catch(this.#over.reject);
    } catch (error) {
      this.#over.reject(error);
    }
  }

  fail(error: unknown): void {
    const { signal } = this.#context.session.exchange;
    // The request ended for the reason of its abort, not because the upstream was cancelled for it.
    this.#over.reject(signal.aborted ? signal.reason : error);
  }

  #readNext(): void {
    const { response, session } = this.#context;
    if (session.exchange.signal.aborted) this.#over.reject(session.exchange.signal.reason);
    else response.read(this, this.#stream.totals);
  }
}

/**
 * Writes chunks that arrived together in one piece. Returns what to wait for when the client is
 * slow.
 */
function writeChunks(
  { request, response }: ResponseContext,
  stream: RelayedStream,
  chunks: readonly ResponseChunk[],
): Promise<void> | undefined {
  const { totals, writer, toolCalls, sink, silence } = stream;
  let out = '';
  let isTooMuch = false;
  for (const chunk of chunks) {
    const ordered = toolCalls.ordered(chunk);
    totals.take(ordered);
    const event = writer.chunk(ordered);
    const isWithheld = totals.hasFinished(request.choices);
    if (isWithheld) stream.withheld += event;
    isTooMuch = totals.isTooLong || toolCalls.areTooMany || stream.withheld.length > maxAfterEnd;
    if (isTooMuch) break;
    if (!isWithheld) out += event;
  }
  if (out !== '') silence.pat();
  const drained = out === '' ? undefined : sink.write(out);
  // The client is sent what came before the limit, also when one read contained both.
  if (isTooMuch) response.fail(new UpstreamStreamError('the upstream sent too much'));
  return drained;
}

/** Settles a complete response; its last events are sent after the settlement is durable. */
async function complete(context: ResponseContext, stream: RelayedStream): Promise<string> {
  const { totals, writer, withheld } = stream;
  const priced = await priceOf(context, totals);
  noteEnd(context, priced.usage, false);
  await settle(context, totals, priced, { errorType: null, cancelled: false });
  return `${withheld}${missingEnds(stream)}${writer.usage(usageBody(priced.usage, priced.bill))}${done}`;
}

/**
 * An upstream may end without a finish reason, but some clients reject a choice without one:
 * OpenAI's own discards the response.
 */
function missingEnds({ totals, writer, toolCalls }: RelayedStream): string {
  const choices = totals.unfinished.map((index) => ({
    index,
    delta: {},
    finish_reason: reasonFor(toolCalls.hasCalls(index)),
    native_finish_reason: null,
    logprobs: null,
  }));
  return writer.chunk({ choices, usage: null, upstreamId: null, systemFingerprint: null, serviceTier: null });
}

/**
 * The client left (spec:money/4.4), or an operator ended the calls of its key: what was generated is
 * billed, unless no content was sent. Nothing of the response is left to send.
 */
async function endCancelled(context: ResponseContext, totals: ResponseTotals): Promise<string> {
  const priced = await priceOf(context, totals);
  noteEnd(context, priced.usage, false);
  const ending = { errorType: null, cancelled: true };
  await settle(context, totals, totals.hasContent ? priced : freeOf(priced), ending).catch(() => {});
  return '';
}

/**
 * The upstream failed during the response, or the response cannot be billed (spec:money/4.3): an
 * error event, zero cost.
 */
async function endFailed(
  context: ResponseContext,
  { totals, writer, thrown }: { totals: ResponseTotals; writer: ChunkWriter; thrown: unknown },
): Promise<string> {
  const refusal = refusalOf(thrown, context.response.status);
  const priced = await priceOf(context, totals);
  const { error } = renderRefusal(refusal).body;
  if (thrown instanceof UpstreamStreamError) {
    noteEnd(context, priced.usage, true);
    context.session.broke(context.response.messageOf(thrown));
  }
  const ending = { errorType: error.metadata.error_type, cancelled: false };
  await settle(context, totals, freeOf(priced), ending).catch(() => {});
  return errorEvent(writer, refusal);
}

function errorEvent(writer: ChunkWriter, refusal: Refusal): string {
  const { error } = renderRefusal(refusal).body;
  return `${writer.error({ ...error, metadata: inStream(error.metadata) })}${done}`;
}

/** `status` is that of the response; the error of the upstream may have its own. */
function refusalOf(thrown: unknown, status: number): Refusal {
  if (thrown instanceof ServerStopping) return refuse('server', messages.serverStopping());
  if (!(thrown instanceof UpstreamStreamError)) return refuse('server', messages.internalError());
  if (thrown.expired !== null) return timeoutOf(thrown.expired);
  return refuse('provider_error', messages.upstreamBroke(), {
    provider_code: thrown.status ?? status,
  });
}

/**
 * A number as `provider_code` inside a stream makes OpenRouter's own client throw
 * (spec:errors/6.5).
 */
function inStream(metadata: Readonly<Record<string, unknown>>): object {
  const { provider_code: code, ...rest } = metadata;
  return code == null ? rest : { ...rest, provider_code: String(code) };
}

function priceOf(
  { parts, request, response }: ResponseContext,
  totals: ResponseTotals,
): Priced | Promise<Priced> {
  return priceResponse(request, response.candidate, totals, parts.count);
}

function freeOf(priced: Priced): Priced {
  return { ...priced, bill: { cost: zeroKrw, promptCost: zeroKrw } };
}

function settle(
  { session, response }: ResponseContext,
  totals: ResponseTotals,
  priced: Priced,
  ending: { readonly errorType: string | null; readonly cancelled: boolean },
): Promise<void> {
  return session.end({
    status: 200,
    candidate: response.candidate,
    totals,
    usage: priced.usage,
    usageSource: priced.source,
    cost: priced.bill.cost,
    ...ending,
  });
}
