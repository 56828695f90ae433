import { readReasoning } from '../dialects/reasoning.ts';
import { refuse } from '../errors/catalogue.ts';
import { type Bilingual, messages, requirements } from '../errors/messages.ts';
import { measureInput } from '../metering/prompt-size.ts';
import type { CompletionKind, CompletionRequest } from '../wire/chat.ts';
import {
  isObject,
  type JsonObject,
  type ParsedJson,
  parsedValue,
  parseJson,
  wellFormed,
} from '../wire/json.ts';
import { maxima, messageLists } from '../wire/maxima.ts';
import { nestedShape, notOffered, type Parameter, parametersOf, roles } from '../wire/parameters.ts';
import { parseWith } from '../wire/parse-with.ts';
import { readPreferences } from '../wire/preferences.ts';

const maxSessionIdLength = 256;
/** How many members without effect are recorded, and how much of their names. */
const maxIgnored = 16;
const maxNameLength = 64;

/** Parses the body of an inference request, and reads it as `readCompletionRequest` does. */
export function parseCompletionRequest(
  kind: CompletionKind,
  bytes: Buffer,
  sessionHeader: string | null,
): CompletionRequest {
  return readCompletionRequest(kind, { parsed: parseJson(bytes), bytes: bytes.length }, sessionHeader);
}

/**
 * Reads the parsed body of an inference request. Refuses with `400 invalid_request` what violates
 * the schema (spec:errors/2.1).
 */
export function readCompletionRequest(
  kind: CompletionKind,
  { parsed, bytes }: { readonly parsed: ParsedJson; readonly bytes: number },
  sessionHeader: string | null,
): CompletionRequest {
  const received = objectOf(parsed);
  const body = withTools(received);
  const models = readModels(body);
  const stream = optional(body, 'stream', 'boolean') ?? false;
  const { parameters, ignored } = readMembers(kind, body);
  const input = kind === 'chat' ? readMessages(body) : readPrompt(body);
  return {
    kind,
    models,
    stream,
    input,
    parameters,
    ignored,
    wantsMedia: kind === 'chat' && wantsMedia(body),
    hidesReasoning: !readReasoning(parameters).shown,
    readsFunctionCalls: readsFunctionCalls(received),
    maxTokens: asNumber(parameters['max_completion_tokens'] ?? parameters['max_tokens']),
    ...countChoices(kind, input, parameters),
    ...measureInput(input, parameters, bytes),
    provider: readPreferences(body['provider'], body['route']),
    user: optional(body, 'user', 'string'),
    sessionId:
      (optional(body, 'session_id', 'string', maxima.id) ?? sessionHeader)?.slice(0, maxSessionIdLength) ??
      null,
  };
}

/** Whether a chat asks for images or speech (spec:api/12.8). An empty member asks for nothing. */
function wantsMedia({ modalities, image_config: image, audio }: JsonObject): boolean {
  if (modalities == null && image == null && audio == null) return false;
  const outputs = modalities ?? [];
  if (!Array.isArray(outputs) || outputs.some((output) => typeof output !== 'string'))
    throw invalid('modalities', requirements.strings);
  if (outputs.length > maxima.modalities)
    throw invalid('modalities', requirements.maxItems(maxima.modalities));
  if (outputs.some((output) => output.length > maxima.name))
    throw invalid('modalities', requirements.eachMaxLength(maxima.name));
  for (const [name, value] of Object.entries({ image_config: image ?? {}, audio: audio ?? {} })) {
    if (!isObject(value)) throw invalid(name, requirements.object);
    if (Object.keys(value).length > 0) return true;
  }
  return outputs.some((output) => output !== 'text');
}

/** `/completions` generates `n` choices for each prompt of a list, the best of `best_of`. */
function countChoices(
  kind: CompletionKind,
  input: unknown,
  { n, best_of: bestOf }: Readonly<Record<string, unknown>>,
): Pick<CompletionRequest, 'choices' | 'completions'> {
  const isList = kind === 'text' && Array.isArray(input) && typeof input[0] !== 'number';
  const prompts = isList ? input.length : 1;
  const choices = asNumber(n) ?? 1;
  return {
    choices: prompts * choices,
    completions: prompts * Math.max(choices, asNumber(bestOf) ?? 1),
  };
}

function objectOf(parsed: ParsedJson): JsonObject {
  const value = parsedValue(parsed);
  if (!isObject(value)) throw refuse('invalid_request', messages.bodyNotObject());
  return parsed.kind === 'value' && parsed.hasSurrogates ? (wellFormed(value) as JsonObject) : value;
}

/** `model` first, then `models`, each once. */
function readModels(body: JsonObject): readonly string[] {
  const first = optional(body, 'model', 'string', maxima.name);
  const more = body['models'] ?? [];
  if (!Array.isArray(more)) throw invalid('models', requirements.strings);
  if (more.length > maxima.models) throw invalid('models', requirements.maxItems(maxima.models));
  if (more.some((id) => typeof id !== 'string')) throw invalid('models', requirements.strings);
  const long = more.findIndex((id) => id.length > maxima.name);
  if (long !== -1) throw invalid(`models[${long}]`, requirements.maxLength(maxima.name));
  if (first !== null && more.length === 0) return [first];
  const models = [...new Set([...(first === null ? [] : [first]), ...(more as string[])])];
  if (models.length === 0) throw missing('model');
  return models;
}

function readMessages(body: JsonObject): readonly object[] {
  const messages = body['messages'];
  if (messages === undefined) throw missing('messages');
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages', requirements.messages);
  if (messages.length > maxima.messages) throw invalid('messages', requirements.maxItems(maxima.messages));
  messages.forEach((message: unknown, index) => {
    if (!isObject(message)) throw invalid(`messages[${index}]`, requirements.object);
    assertRole(message, `messages[${index}]`);
    for (const [name, max] of messageLists) {
      const list = message[name];
      if (Array.isArray(list) && list.length > max)
        throw invalid(`messages[${index}].${name}`, requirements.maxItems(max));
    }
    assertContent(message['content'], index);
  });
  return messages.some(hasBareMedia) ? messages.map(withMediaObjects) : messages;
}

/** A known role; a tool's message states the call that it answers (spec:api/12.9). */
function assertRole({ role, tool_call_id: call }: JsonObject, name: string): void {
  if (role == null || role === '') throw missing(`${name}.role`);
  if (roles.every((known) => known !== role)) throw invalid(`${name}.role`, requirements.oneOf(roles));
  if (role !== 'tool') return;
  if (call == null) throw missing(`${name}.tool_call_id`);
  if (typeof call !== 'string') throw invalid(`${name}.tool_call_id`, requirements.string);
  if (call.length > maxima.text) throw invalid(`${name}.tool_call_id`, requirements.maxLength(maxima.text));
}

/** A message whose media are objects with a `url`: some clients send the URL alone. */
function withMediaObjects(message: JsonObject): JsonObject {
  if (!hasBareMedia(message)) return message;
  const content = message['content'] as readonly JsonObject[];
  return { ...message, content: content.map((part) => (isBareMedia(part) ? withMediaObject(part) : part)) };
}

function hasBareMedia({ content }: JsonObject): boolean {
  return Array.isArray(content) && content.some(isBareMedia);
}

function isBareMedia(part: JsonObject): boolean {
  return mediaMembers.some((name) => typeof part[name] === 'string');
}

const mediaMembers = ['image_url', 'video_url'];

function withMediaObject(part: JsonObject): JsonObject {
  const whole = mediaMembers.flatMap((name) => {
    const url = part[name];
    return typeof url === 'string' ? [[name, { url, ...detailOf(part) }] as const] : [];
  });
  const { detail: _, ...rest } = part;
  return { ...rest, ...Object.fromEntries(whole) };
}

/** Beside a bare URL the detail is a member of the part. */
function detailOf({ detail }: JsonObject): object {
  return typeof detail === 'string' ? { detail } : {};
}

function assertContent(content: unknown, index: number): void {
  if (content == null) return;
  if (typeof content === 'string') {
    if (content.length <= maxima.text) return;
    throw invalid(`messages[${index}].content`, requirements.maxLength(maxima.text));
  }
  const parts = Array.isArray(content) ? content : [undefined];
  if (parts.some((part) => !isObject(part) || !isName(part['type'])))
    throw invalid(`messages[${index}].content`, requirements.content);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxima.name;
}

/** A string, strings, token ids, or arrays of token ids. */
function readPrompt(body: JsonObject): unknown {
  const prompt = body['prompt'];
  if (prompt == null) throw missing('prompt');
  const max = Array.isArray(prompt) && typeof prompt[0] === 'number' ? maxima.tokens : maxima.prompts;
  if (Array.isArray(prompt) && prompt.length > max) throw invalid('prompt', requirements.maxItems(max));
  const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= maxima.text;
  const isToken = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
  const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
    Array.isArray(value) && value.length > 0 && value.every(isItem);
  const isTokens = (value: unknown): boolean => isListOf(value, isToken);
  if (isText(prompt) || isListOf(prompt, isText) || isTokens(prompt) || isListOf(prompt, isTokens))
    return prompt;
  throw invalid('prompt', requirements.prompt);
}

/** A known parameter and its position: the first one at fault is reported. */
interface KnownParameter extends Parameter {
  readonly name: string;
  readonly position: number;
}

const knownParameters: Readonly<Record<CompletionKind, ReadonlyMap<string, KnownParameter>>> = {
  chat: positioned(parametersOf.chat),
  text: positioned(parametersOf.text),
};

function positioned(table: Readonly<Record<string, Parameter>>): ReadonlyMap<string, KnownParameter> {
  return new Map(
    Object.entries(table).map(([name, parameter], position) => [name, { ...parameter, name, position }]),
  );
}

/**
 * Known parameters, validated, in the order of their rules, and the names of the first members
 * without effect. Null means absent; unknown members are dropped (spec:api/12.3).
 */
function readMembers(
  kind: CompletionKind,
  body: JsonObject,
): Pick<CompletionRequest, 'parameters' | 'ignored'> {
  const known = knownParameters[kind];
  const stated: KnownParameter[] = [];
  const ignored: string[] = [];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === null) continue;
    const parameter = known.get(name);
    if (parameter !== undefined && !(value === -1 && parameter.isLimit === true)) stated.push(parameter);
    else if (!otherMembers.has(name) && ignored.length < maxIgnored)
      ignored.push(name.slice(0, maxNameLength));
  }
  const parameters: Record<string, unknown> = {};
  for (const { name, rule } of stated.sort((a, b) => a.position - b.position)) {
    const fault = rule(body[name]);
    if (fault !== null) throw invalid(name, fault);
    parameters[name] = body[name];
  }
  if (stated.some(({ isNested }) => isNested === true)) {
    const nested = parseWith(nestedShape, parameters);
    if (!nested.ok) throw refuse('invalid_request', nested.fault.message);
  }
  return { parameters, ignored };
}

/** Members that are not parameters. */
const otherMembers = new Set([
  ...['model', 'models', 'messages', 'prompt', 'stream', 'stream_options', 'usage'],
  ...['provider', 'route', 'session_id', 'user', ...notOffered],
]);

function optional(body: JsonObject, name: string, type: 'string', maxLength?: number): string | null;
function optional(body: JsonObject, name: string, type: 'boolean'): boolean | null;
function optional(
  body: JsonObject,
  name: string,
  type: 'string' | 'boolean',
  maxLength: number = maxima.text,
): unknown {
  const value = body[name] ?? null;
  if (value !== null && typeof value !== type) throw invalid(name, requirements[type]);
  if (typeof value === 'string' && value.length > maxLength)
    throw invalid(name, requirements.maxLength(maxLength));
  return value;
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function missing(name: string): Error {
  return refuse('invalid_request', messages.missing(name));
}

function invalid(name: string, requirement: Bilingual): Error {
  return refuse('invalid_request', messages.invalidValue(name, requirement));
}

/**
 * A body with `tools` instead of the `functions` that preceded them: the parameters `functions` and
 * `function_call`, the messages of the role `function`, and the calls of assistant messages. The
 * body itself when it has none of them.
 */
export function withTools(body: JsonObject): JsonObject {
  const { functions, function_call: choice, messages } = body;
  const isOld = Array.isArray(messages) && messages.some(isOldMessage);
  if (functions == null && choice == null && !isOld) return body;
  const { functions: _, function_call: _choice, messages: _messages, ...rest } = body;
  const tools = Array.isArray(functions)
    ? functions.map((declared: unknown) => ({ type: 'function', function: declared }))
    : [];
  return {
    ...rest,
    ...(messages === undefined ? {} : { messages: isOld ? messagesWithTools(messages) : messages }),
    ...(tools.length === 0 || rest['tools'] != null ? {} : { tools }),
    ...(choice == null || rest['tool_choice'] != null ? {} : { tool_choice: toolChoice(choice) }),
  };
}

/** Whether a client calls functions in the old form, and reads calls in that form. */
export function readsFunctionCalls(body: JsonObject): boolean {
  return Array.isArray(body['functions']) && body['tools'] == null;
}

function isOldMessage(message: unknown): boolean {
  return isObject(message) && (message['role'] === 'function' || isObject(message['function_call']));
}

function toolChoice(choice: unknown): unknown {
  return isObject(choice) ? { type: 'function', function: choice } : choice;
}

/** Each call gets an id, which the next result of its function repeats. */
function messagesWithTools(messages: readonly unknown[]): readonly unknown[] {
  const open = new Map<unknown, string[]>();
  return messages.map((message, position) => {
    if (!isObject(message)) return message;
    if (message['role'] === 'function') {
      const id = open.get(message['name'])?.shift() ?? `call_${position}`;
      return { ...message, role: 'tool', tool_call_id: id };
    }
    const { function_call: call, ...rest } = message;
    if (!isObject(call) || Array.isArray(rest['tool_calls'])) return message;
    const id = `call_${position}`;
    open.set(call['name'], [...(open.get(call['name']) ?? []), id]);
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  });
}
