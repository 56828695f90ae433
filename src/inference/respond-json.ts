import { priceResponse } from '../metering/price-response.ts';
import { ResponseTotals } from '../metering/response-totals.ts';
import { reasoningContent, type WholeChoice, wholeBody } from '../wire/answer.ts';
import {
  type AnswerChunk,
  type ChunkChoice,
  hasContent,
  type ToolCallDelta,
  withoutThoughts,
} from '../wire/chat.ts';
import type { JsonReply } from '../wire/reply.ts';
import { usageBody } from '../wire/usage.ts';
import { envelopeOf, noteEnd, type ResponseContext, responseHeaders } from './response-context.ts';
import { callIdOf, reasonFor } from './tool-calls.ts';

/** Answers a whole request: priced, settled durably, then sent (spec:money/5.1). A client that has left pays nothing. */
export async function respondJson(answering: ResponseContext): Promise<JsonReply> {
  const { session, answer, ask, exchange } = answering;
  const totals = new ResponseTotals();
  const chunks: readonly AnswerChunk[] = answer.first;
  for (const chunk of chunks) totals.take(chunk);
  answer.release();
  const { usage, source, bill } = await priceResponse(ask, answer.candidate, totals, answering.count);
  noteEnd(answering, usage, totals.finishReason === 'error');
  if (exchange.signal.aborted) throw exchange.signal.reason;
  await session.end({
    status: 200,
    errorType: null,
    candidate: answer.candidate,
    totals,
    usage,
    usageSource: source,
    cost: bill.cost,
    cancelled: false,
  });
  return {
    headers: responseHeaders(answering),
    body: wholeBody(envelopeOf(answering), {
      choices: chunks
        .flatMap((chunk) => chunk.choices)
        .map((choice) => wholeChoice(ask.hidesThoughts ? withoutThoughts(choice) : choice, session.id)),
      usage: usageBody(usage, bill),
      systemFingerprint: totals.systemFingerprint,
      serviceTier: totals.serviceTier,
    }),
  };
}

/** A message has content, refusal and reasoning always, and everything else only when there is some. */
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
    // Words are complete when they came whole; nothing for no reason stays nothing.
    finishReason: finish_reason ?? (hasContent(delta) ? reasonFor(calls !== undefined) : null),
    nativeFinishReason: native_finish_reason,
    logprobs,
  };
}

/** A call has an id, a name and arguments always: strict clients demand them, and not every engine gives them. */
function wholeCall(call: ToolCallDelta, index: number, idOtherwise: string): object {
  const { name = '', arguments: args = '{}' } = call.function;
  return { index, id: call.id ?? idOtherwise, type: 'function', function: { name, arguments: args } };
}
