import type { CompletionRequest } from '../../wire/chat.ts';
import { isObject, type JsonObject } from '../../wire/json-object.ts';
import { type Destination, type EncodedRequest, noHeaders, type UpstreamCodec } from '../dialect.ts';
import { rulesForModel, rulesOf } from './providers.ts';
import { type ReasoningRules, writeReasoning } from './reasoning.ts';
import { translate } from './translate.ts';

/** Encodes our request for an API of this dialect; always requests usage. */
export function encodeRequest(
  request: CompletionRequest,
  to: Destination,
): Pick<UpstreamCodec, 'request' | 'changes'> {
  const rules = rulesOf(to.variant);
  const own = rulesForModel(rules, [to.model, to.modelId]);
  const { parameters, changes } = translate(request.parameters, request.kind, own, to);
  const members = rules.messageMembers;
  const encoded: EncodedRequest = {
    path: request.kind === 'chat' ? '/chat/completions' : '/completions',
    headers: noHeaders,
    body: JSON.stringify({
      model: to.model,
      ...inputOf(request, own.reasoning, members),
      ...(members === null ? parameters : withPlainTools(parameters)),
      ...(request.stream ? { stream: true } : {}),
      ...(request.stream && rules.streamOptions ? { stream_options: { include_usage: true } } : {}),
    }),
  };
  return { request: encoded, changes };
}

function inputOf(
  { kind, input }: CompletionRequest,
  reasoning: ReasoningRules,
  members: readonly string[] | null,
): object {
  if (kind === 'text') return { prompt: input };
  const messages = writeReasoning(input as readonly JsonObject[], reasoning);
  if (members === null) return { messages };
  const taken: readonly string[] = [...members, ...reasoning.fields];
  return { messages: messages.map((message) => plainMessage(message, taken)) };
}

/** A message for an API that rejects unknown members. */
function plainMessage(message: JsonObject, members: readonly string[]): JsonObject {
  const taken = Object.entries(message).filter(
    ([name, value]) => members.includes(name) && (value !== null || name === 'content'),
  );
  return Object.fromEntries(
    taken.map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(name === 'tool_calls' ? plainCall : withoutBreakpoint) : value,
    ]),
  );
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
