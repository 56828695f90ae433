import type { Outcome } from './engine.ts';
import type { EngineRequest } from './request.ts';
import { callIn, callMark, type ToolCall } from './tools.ts';

/** The model name in every response. */
export const modelId = 'naru-demo';

/** The objects of one response, whole or in chunks, all with the same id. */
export interface Reply {
  /** The whole response. */
  whole(generated: string, outcome: Outcome): object;
  /** The first chunk of a stream; null if the format has none. */
  opening(): object | null;
  /** A chunk with more text. */
  piece(text: string): object;
  /**
   * The last chunks of a stream; `heldBack` is text that was not sent yet because it could become a
   * tool call.
   */
  ending(heldBack: string, outcome: Outcome): readonly object[];
}

/** The parsed generation: text or a tool call, and the finish reason in OpenAI's terms. */
interface ParsedReply {
  readonly text: string;
  readonly call: ToolCall | null;
  readonly finish: Outcome['finish'] | 'tool_calls';
}

/** Creates the response to `request` with the given id and time, in seconds since 1970. */
export function replyTo(request: EngineRequest, id: string, created: number): Reply {
  const chat = request.kind === 'chat';
  const head = (object: string): object => ({ id, object, created, model: modelId });
  const chunkHead = head(chat ? 'chat.completion.chunk' : 'text_completion');
  const chunk = (content: object, finishReason: ParsedReply['finish'] | null): object => ({
    ...chunkHead,
    choices: [{ index: 0, ...content, logprobs: null, finish_reason: finishReason }],
    ...(request.includeUsage ? { usage: null } : {}),
  });
  const piece = (text: string): object => chunk(chat ? { delta: { content: text } } : { text }, null);
  return {
    whole(generated, outcome) {
      const response = readReply(request, generated, outcome);
      const content = chat ? { message: messageOf(response, id) } : { text: response.text };
      return {
        ...head(chat ? 'chat.completion' : 'text_completion'),
        choices: [{ index: 0, ...content, logprobs: null, finish_reason: response.finish }],
        usage: usageOf(outcome),
      };
    },
    opening: () => (chat ? chunk({ delta: { role: 'assistant', content: '' } }, null) : null),
    piece,
    ending(heldBack, outcome) {
      const { text, call, finish } = readReply(request, heldBack, outcome);
      const called = call === null ? [] : [{ index: 0, ...callShape(call, id) }];
      return [
        ...(text === '' ? [] : [piece(text)]),
        ...(call === null ? [] : [chunk({ delta: { tool_calls: called } }, null)]),
        chunk(chat ? { delta: {} } : { text: '' }, finish),
        ...(request.includeUsage ? [{ ...chunkHead, choices: [], usage: usageOf(outcome) }] : []),
      ];
    },
  };
}

/** True while `text` is or may become a tool call and must not be sent as text. */
export function mayBeCall(request: EngineRequest, text: string): boolean {
  return request.tools.length > 0 && (text.startsWith(callMark) || callMark.startsWith(text));
}

function readReply(request: EngineRequest, generated: string, { finish }: Outcome): ParsedReply {
  if (request.tools.length === 0 || !generated.startsWith(callMark))
    return { text: generated, call: null, finish };
  // A truncated call is not a call, and its beginning is not text.
  const call = finish === 'stop' ? callIn(generated, request.tools, request.question) : null;
  return { text: '', call, finish: call === null ? finish : 'tool_calls' };
}

function messageOf({ text, call }: ParsedReply, id: string): object {
  if (call === null) return { role: 'assistant', content: text };
  return { role: 'assistant', content: null, tool_calls: [callShape(call, id)] };
}

function callShape({ name, arguments: given }: ToolCall, id: string): object {
  return { id: `call_${id.slice(-24)}`, type: 'function', function: { name, arguments: given } };
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: Outcome): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
