import { type Refusal, refuse } from '../errors/catalogue.ts';
import { renderRefusal } from '../errors/error-body.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import { type Priced, priceResponse } from '../metering/price-response.ts';
import { maxAfterEnd, ResponseTotals } from '../metering/response-totals.ts';
import { zeroKrw } from '../money/krw.ts';
import { ChunkWriter } from '../wire/answer.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { StreamReply, StreamSink } from '../wire/reply.ts';
import { doneData, sseEvent, sseKeepAlive } from '../wire/sse.ts';
import { usageBody } from '../wire/usage.ts';
import type { CandidateResponse } from './outcome.ts';
import { envelopeOf, noteEnd, type ResponseContext, responseHeaders } from './response-context.ts';
import { timeoutOf, UpstreamStreamError } from './stream-error.ts';
import { reasonFor, ToolCalls } from './tool-calls.ts';
import { Watchdog } from './watchdog.ts';

const done = sseEvent(doneData);

/** Answers a streamed request. From here on every error is an event of the stream (spec:errors/6). */
export function respondStream(answering: ResponseContext): StreamReply {
  return { headers: responseHeaders(answering), stream: (sink) => relay(answering, sink) };
}

/** Passes the answer on and settles it, however it ends. Never throws. */
async function relay(answering: ResponseContext, sink: StreamSink): Promise<void> {
  const { answer, clock, keepAliveMs } = answering;
  const totals = new ResponseTotals();
  const [opening] = answer.first;
  const writer = new ChunkWriter(envelopeOf(answering), {
    systemFingerprint: opening?.systemFingerprint ?? null,
    serviceTier: opening?.serviceTier ?? null,
    hidesThoughts: answering.ask.hidesThoughts,
  });
  const silence = new Watchdog(clock, keepAliveMs, () => void sink.write(sseKeepAlive));
  const toolCalls = new ToolCalls(answering.session.id);
  const passing: Passing = { totals, writer, toolCalls, sink, silence, held: '' };
  let end: string;
  try {
    await pass(answering, passing);
    end = await complete(answering, passing);
  } catch (thrown) {
    end =
      thrown instanceof ClientDisconnected
        ? await left(answering, totals)
        : await broke(answering, { totals, writer, thrown });
  } finally {
    silence.stop();
    answer.rest?.close();
    answer.release();
  }
  await sink.write(end);
}

/** A streamed answer whose text is shorter is not counted as memory that is held. */
const freeText = 65_536;

/** What an answer needs while it passes. */
interface Passing {
  readonly totals: ResponseTotals;
  readonly writer: ChunkWriter;
  readonly toolCalls: ToolCalls;
  readonly sink: StreamSink;
  readonly silence: Watchdog;
  /** What says that the answer is complete: kept back until the answer is settled. */
  held: string;
}

/**
 * Passes chunks on as they come. A stream waits in here for nearly all of its life, and thousands do: nothing of what has passed
 * is kept.
 */
async function pass({ answer, ask, exchange }: ResponseContext, passing: Passing): Promise<void> {
  let full = put(answer, ask, passing, answer.first);
  answer.first = [];
  for (;;) {
    if (full !== undefined) await full;
    if (exchange.signal.aborted) throw exchange.signal.reason;
    let chunks: CandidateResponse['first'] | null = null;
    try {
      chunks = answer.rest === null ? null : await answer.rest.nextAfter(passing.totals);
    } catch (error) {
      // Who gave the request up is why it ended, not the upstream that was cut off for it.
      throw exchange.signal.aborted ? exchange.signal.reason : error;
    }
    if (chunks === null) return;
    if (passing.totals.text.length > freeText) exchange.memory?.hold('answer', passing.totals.text.length);
    full = put(answer, ask, passing, chunks);
  }
}

/** Writes chunks that arrived together together. Returns what to wait for when the client is slow. */
function put(
  answer: CandidateResponse,
  { choices }: CompletionRequest,
  passing: Passing,
  chunks: CandidateResponse['first'],
): Promise<void> | undefined {
  const { totals, writer, toolCalls, sink, silence } = passing;
  let out = '';
  let isTooMuch = false;
  for (const chunk of chunks) {
    totals.take(chunk);
    const event = writer.chunk(toolCalls.ordered(chunk));
    const isHeld = totals.hasFinished(choices);
    if (isHeld) passing.held += event;
    isTooMuch = totals.isTooLong || passing.held.length > maxAfterEnd;
    if (isTooMuch) break;
    if (!isHeld) out += event;
  }
  if (out !== '') silence.pat();
  const full = out === '' ? undefined : sink.write(out);
  // What came before belongs to the client, also when one read brought it and what was too much.
  if (isTooMuch) answer.rest?.fail(new UpstreamStreamError('the upstream sent too much'));
  return full;
}

/** Settles a complete answer; its last events come after that is durable. */
async function complete(answering: ResponseContext, stated: Passing): Promise<string> {
  const { answer, ask } = answering;
  const { totals, writer, held } = stated;
  const priced = await priceResponse(ask, answer.candidate, totals, answering.count);
  noteEnd(answering, priced.usage, totals.finishReason === 'error');
  await settle(answering, totals, priced, { errorType: null, cancelled: false });
  return `${held}${missingEnds(stated)}${writer.usage(usageBody(priced.usage, priced.bill))}${done}`;
}

/** An upstream may be done without a reason, but a client may not take a choice without one: OpenAI's own throws the answer away. */
function missingEnds({ totals, writer, toolCalls }: Passing): string {
  const choices = totals.unfinished.map((index) => ({
    index,
    delta: {},
    finish_reason: reasonFor(toolCalls.hasCalls(index)),
    native_finish_reason: null,
    logprobs: null,
  }));
  return writer.chunk({ choices, usage: null, upstreamId: null, systemFingerprint: null, serviceTier: null });
}

/** The client left (spec:money/4.4): what was generated is billed, unless not one word was sent. Nobody reads the end. */
async function left(answering: ResponseContext, totals: ResponseTotals): Promise<string> {
  const priced = await priceResponse(answering.ask, answering.answer.candidate, totals, answering.count);
  const free: Priced = { ...priced, bill: { cost: zeroKrw, promptCost: zeroKrw } };
  noteEnd(answering, priced.usage, false);
  await settle(answering, totals, totals.hasContent ? priced : free, {
    errorType: null,
    cancelled: true,
  }).catch(() => {});
  return '';
}

/** The upstream failed in the middle, or the answer cannot be billed (spec:money/4.3): an error event, zero cost. */
async function broke(
  answering: ResponseContext,
  stated: { totals: ResponseTotals; writer: ChunkWriter; thrown: unknown },
): Promise<string> {
  const { totals, writer, thrown } = stated;
  const refusal = refusalOf(thrown, answering.answer.status);
  const priced = await priceResponse(answering.ask, answering.answer.candidate, totals, answering.count);
  const free: Priced = { ...priced, bill: { cost: zeroKrw, promptCost: zeroKrw } };
  const { error } = renderRefusal(refusal).body;
  if (thrown instanceof UpstreamStreamError) noteEnd(answering, priced.usage, true);
  await settle(answering, totals, free, { errorType: error.metadata.error_type, cancelled: false }).catch(
    () => {},
  );
  return `${writer.error({ ...error, metadata: inStream(error.metadata) })}${done}`;
}

/** `status` is that of the response: what the candidate returned, unless it named another for its error. */
function refusalOf(thrown: unknown, status: number): Refusal {
  if (!(thrown instanceof UpstreamStreamError)) return refuse('server', messages.internalError());
  if (thrown.expired !== null) return timeoutOf(thrown.expired);
  return refuse('provider_error', messages.upstreamBroke(), {
    provider_code: thrown.status ?? status,
  });
}

/** A number as `provider_code` inside a stream makes OpenRouter's own client throw (spec:errors/6.5). */
function inStream(metadata: Readonly<Record<string, unknown>>): object {
  const { provider_code: code, ...rest } = metadata;
  return code == null ? rest : { ...rest, provider_code: String(code) };
}

function settle(
  { session, answer }: ResponseContext,
  totals: ResponseTotals,
  priced: Priced,
  how: { readonly errorType: string | null; readonly cancelled: boolean },
): Promise<void> {
  return session.end({
    status: 200,
    candidate: answer.candidate,
    totals,
    usage: priced.usage,
    usageSource: priced.source,
    cost: priced.bill.cost,
    ...how,
  });
}
