import { ClaimBounds } from '../metering/claim-bounds.ts';
import { priceResponse } from '../metering/price-response.ts';
import { ResponseTotals } from '../metering/response-totals.ts';
import { type ChunkChoice, hasContent, type ToolCallDelta, withoutReasoning } from '../wire/chat.ts';
import type { JsonReply } from '../wire/reply.ts';
import { reasoningContent, type WholeChoice, wholeBody } from '../wire/response.ts';
import { usageBody } from '../wire/usage.ts';
import { envelopeOf, noteEnd, type ResponseContext, responseHeaders } from './response-context.ts';
import { callIdOf, reasonFor } from './tool-calls.ts';

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
