import type { CompletionRequest } from '../../wire/chat.ts';
import { isObject, type JsonObject } from '../../wire/json.ts';
import { type Conformed, conform } from '../conversation/conform.ts';
import type { MessageRules } from '../conversation/rules.ts';
import {
  type Destination,
  type EncodedRequest,
  noHeaders,
  type ParameterChange,
  type UpstreamCodec,
} from '../dialect.ts';
import { type ProviderRules, rulesForModel, rulesOf } from './providers.ts';
import { losesReasoning, writeReasoning } from './reasoning.ts';
import { translate } from './translate.ts';

/** Encodes our request for an API of this dialect; always requests usage. */
export function encodeRequest(
  given: CompletionRequest,
  to: Destination,
): Pick<UpstreamCodec, 'request' | 'changes'> & Pick<Conformed, 'ownName'> {
  const rules = rulesForModel(rulesOf(to.variant), [to.model, to.modelId]);
  const { request, changes: conformed, ownName } = conform(given, rules.messages, to.price);
  const { parameters, changes } = translate(request.parameters, request.kind, rules, to);
  const isStrict = rules.messages.members !== null;
  const encoded: EncodedRequest = {
    path: request.kind === 'chat' ? '/chat/completions' : '/completions',
    headers: noHeaders,
    body: JSON.stringify({
      model: to.model,
      ...inputOf(request, rules),
      ...(isStrict ? withPlainTools(parameters) : parameters),
      ...(request.stream ? { stream: true } : {}),
      ...(request.stream && rules.streamOptions ? { stream_options: { include_usage: true } } : {}),
    }),
  };
  const isLost =
    request.kind === 'chat' && losesReasoning(given.input as readonly JsonObject[], rules.reasoning);
  const lost: readonly ParameterChange[] = isLost
    ? [{ parameter: 'messages.reasoning', change: 'dropped' }]
    : [];
  return { request: encoded, changes: [...conformed, ...lost, ...changes], ownName };
}

function inputOf({ kind, input }: CompletionRequest, { reasoning, messages: rules }: ProviderRules): object {
  if (kind === 'text') return { prompt: input };
  const messages = writeReasoning(input as readonly JsonObject[], reasoning);
  return { messages: rules.members === null ? messages : messages.map((one) => plainMessage(one, rules)) };
}

/** A message for an API that rejects unknown members of parts and calls. */
function plainMessage(message: JsonObject, { numbersCalls }: MessageRules): JsonObject {
  const { cache_control: _, content, tool_calls: calls, ...rest } = message;
  return {
    ...rest,
    ...('content' in message
      ? { content: Array.isArray(content) ? content.map(withoutBreakpoint) : content }
      : {}),
    ...(Array.isArray(calls) ? { tool_calls: numbersCalls ? calls : calls.map(plainCall) } : {}),
  };
}

/** A tool call without the index that it had in the response. */
function plainCall(call: unknown): unknown {
  if (!isObject(call)) return call;
  const { id, type, function: called } = call;
  return { id, type, function: called };
}

function withPlainTools(parameters: JsonObject): JsonObject {
  const { tools } = parameters;
  return Array.isArray(tools) ? { ...parameters, tools: tools.map(withoutBreakpoint) } : parameters;
}

/** A part or a tool without its cache breakpoint, which these APIs do not support. */
function withoutBreakpoint(part: unknown): unknown {
  if (!isObject(part)) return part;
  const { cache_control: _, ...rest } = part;
  return rest;
}
