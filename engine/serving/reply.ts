import type { Ask } from './ask.ts';
import type { Outcome } from './engine.ts';
import { callIn, callMark, type ToolCall } from './tools.ts';

/** What the model is called in every answer. */
export const modelId = 'naru-demo';

/** Why an answer ended, as OpenAI names it. */
export type FinishReason = Outcome['finish'] | 'tool_calls';

/** The shapes of one answer, whole or in chunks; all of them carry the same id. */
export interface Reply {
  /** The whole answer. */
  whole(text: string, outcome: Outcome): object;
  /** The chunk that opens a stream; null where the format has none. */
  opening(): object | null;
  /** A chunk with more text. */
  piece(text: string): object;
  /** The chunks that end a stream; `text` is what was held back to see whether it was a call of a tool. */
  ending(heldBack: string, outcome: Outcome): readonly object[];
}

/** The reply to `ask` under the given id and time, in seconds since 1970. */
export function replyTo(ask: Ask, id: string, created: number): Reply {
  const head = (object: string): object => ({ id, object, created, model: modelId });
  const chat = ask.kind === 'chat';
  const chunk = (delta: object, finishReason: FinishReason | null): object => ({
    ...head(chat ? 'chat.completion.chunk' : 'text_completion'),
    choices: [{ index: 0, ...delta, logprobs: null, finish_reason: finishReason }],
    ...(ask.includeUsage ? { usage: null } : {}),
  });
  const delta = (fields: object): object => ({ delta: fields });
  return {
    whole(text, outcome) {
      const call = callOf(ask, text);
      const message = {
        role: 'assistant',
        content: call === null ? text : null,
        ...(call === null ? {} : { tool_calls: [callShape(call, id)] }),
      };
      const finishReason = call === null ? outcome.finish : 'tool_calls';
      return {
        ...head(chat ? 'chat.completion' : 'text_completion'),
        choices: [
          { index: 0, ...(chat ? { message } : { text }), logprobs: null, finish_reason: finishReason },
        ],
        usage: usageOf(outcome),
      };
    },
    opening: () => (chat ? chunk(delta({ role: 'assistant', content: '' }), null) : null),
    piece: (text) => chunk(chat ? delta({ content: text }) : { text }, null),
    ending(heldBack, outcome) {
      const call = callOf(ask, heldBack);
      const end = chunk(chat ? delta({}) : { text: '' }, call === null ? outcome.finish : 'tool_calls');
      const said =
        call === null ? [] : [chunk(delta({ tool_calls: [{ index: 0, ...callShape(call, id) }] }), null)];
      const usage = {
        ...head(chat ? 'chat.completion.chunk' : 'text_completion'),
        choices: [],
        usage: usageOf(outcome),
      };
      return [...said, end, ...(ask.includeUsage ? [usage] : [])];
    },
  };
}

/** True while `text` may still be, or is, a call of a tool, so that it must not be shown as text. */
export function mayBeCall(ask: Ask, text: string): boolean {
  return ask.tools.length > 0 && (text.startsWith(callMark) || callMark.startsWith(text));
}

function callOf(ask: Ask, text: string): ToolCall | null {
  return ask.tools.length > 0 && text.startsWith(callMark) ? callIn(text, ask.tools, ask.question) : null;
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
