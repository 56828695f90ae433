import type { CompletionRequest } from '../../wire/chat.ts';
import { bodyLimits, countValues, isObject, type JsonObject } from '../../wire/json.ts';
import { UnsupportedRequest } from '../dialect.ts';
import { filePart, type SupportedUrls } from './media.ts';
import { cacheControlOf, type ProviderQuirks } from './provider-quirks.ts';
import { readDetails } from './reasoning-details.ts';
import type {
  AssistantPart,
  Message,
  Prompt,
  ProviderOptions,
  ToolOutputPart,
  ToolResultPart,
  UserPart,
} from './types.ts';

/** The target of a prompt. */
export interface PromptFor {
  readonly quirks: ProviderQuirks;
  readonly model: string;
  readonly urls: SupportedUrls;
}

/**
 * Our messages, or the text to continue, as a prompt of the packages. Throws `UnsupportedRequest`
 * for what it cannot express.
 */
export function writePrompt(request: CompletionRequest, to: PromptFor): Prompt {
  if (request.kind === 'text')
    return [{ role: 'user', content: [{ type: 'text', text: onlyText(request.input) }] }];
  const messages = request.input as readonly JsonObject[];
  const names = new Map(messages.flatMap((message) => callsOf(message).map(({ id, name }) => [id, name])));
  const calls: CallReader = { names, inputOf: inputReader() };
  const prompt: Message[] = [];
  let hasBegun = false;
  for (const message of messages) {
    for (const written of writeMessage(message, to, calls)) {
      const last = prompt.at(-1);
      // Results of parallel calls belong to one message.
      if (written.role === 'tool' && last?.role === 'tool') last.content.push(...written.content);
      else if (written.role === 'system' && hasBegun)
        // Instructions are allowed at the start only; later ones keep their position as a user
        // message.
        prompt.push({ role: 'user', content: [{ type: 'text', text: written.content }] });
      else prompt.push(written);
      hasBegun ||= written.role !== 'system';
    }
  }
  return prompt;
}

/** What is read of the calls of a conversation. */
interface CallReader {
  /** The tool of each call, by the id of the call. */
  readonly names: ReadonlyMap<string, string>;
  readonly inputOf: (stated: unknown) => unknown;
}

/** Of the arguments of all calls together: parsing them takes some 50 ms. */
const maxArgumentValues = 70_000;

function onlyText(input: unknown): string {
  const [only, ...more] = Array.isArray(input) ? (input as readonly unknown[]) : [input];
  if (typeof only !== 'string' || more.length > 0)
    throw new UnsupportedRequest('several prompts, or token ids');
  return only;
}

function writeMessage(message: JsonObject, to: PromptFor, calls: CallReader): readonly Message[] {
  switch (message['role']) {
    case 'system':
    case 'developer':
      return textParts(message, to).map(({ text, options }) => ({
        role: 'system',
        content: text,
        ...options,
      }));
    case 'user': {
      const content = userParts(message, to);
      return content.length === 0 ? [] : [{ role: 'user', content }];
    }
    case 'assistant': {
      const content = assistantParts(message, to, calls);
      return content.length === 0 ? [] : [{ role: 'assistant', content }];
    }
    case 'tool':
      return [{ role: 'tool', content: [toolResult(message, to, calls)] }];
    default:
      throw new UnsupportedRequest(`the role ${String(message['role']).slice(0, 40)}`);
  }
}

function userParts(message: JsonObject, to: PromptFor): UserPart[] {
  return partsOf(message, to).flatMap(({ part, options }): UserPart[] => {
    if (part['type'] !== 'text') return [{ ...filePart(part, to.urls), ...options }];
    const text = stringOf(part['text']);
    return text === '' ? [] : [{ type: 'text', text, ...options }];
  });
}

/** Reasoning first, then text, then calls: the order in which a model produces them. */
function assistantParts(message: JsonObject, to: PromptFor, { inputOf }: CallReader): AssistantPart[] {
  const { quirks, model } = to;
  const calls = callsOf(message);
  const returned = readDetails(message['reasoning_details'], quirks.format(model));
  const sealOf = new Map(
    returned.flatMap(({ encrypted, toolCallId }) =>
      encrypted !== null && toolCallId !== null ? [[toolCallId, encrypted]] : [],
    ),
  );
  const ids = new Set(calls.map(({ id }) => id));
  const own = returned.filter(({ toolCallId }) => toolCallId === null || !ids.has(toolCallId));
  return [
    ...own.flatMap(({ text, signature, encrypted }): AssistantPart[] => {
      if (encrypted !== null)
        return [{ type: 'reasoning', text: '', providerOptions: quirks.encrypted(encrypted) }];
      return signature === null
        ? []
        : [{ type: 'reasoning', text, providerOptions: quirks.signed(signature) }];
    }),
    ...textParts(message, to).map(({ text, options }): AssistantPart => ({ type: 'text', text, ...options })),
    ...calls.map(({ id, name, stated }): AssistantPart => {
      const seal = sealOf.get(id);
      const signed = seal === undefined ? {} : { providerOptions: quirks.signed(seal) };
      return { type: 'tool-call', toolCallId: id, toolName: name, input: inputOf(stated), ...signed };
    }),
  ];
}

function toolResult(message: JsonObject, to: PromptFor, { names }: CallReader): ToolResultPart {
  const id = stringOf(message['tool_call_id']);
  const parts = partsOf(message, to);
  const isText = parts.every(({ part }) => part['type'] === 'text');
  return {
    type: 'tool-result',
    toolCallId: id,
    toolName: names.get(id) ?? (typeof message['name'] === 'string' ? message['name'] : 'tool'),
    output: isText
      ? { type: 'text', value: parts.map(({ part }) => stringOf(part['text'])).join('') }
      : {
          type: 'content',
          value: outputParts(
            parts.map(({ part }) => part),
            to,
          ),
        },
    ...parts.findLast(({ options }) => options.providerOptions !== undefined)?.options,
  };
}

/** One text first: Google counts each text as a result of its own. */
function outputParts(parts: readonly JsonObject[], to: PromptFor): ToolOutputPart[] {
  const text = parts.flatMap((part) => (part['type'] === 'text' ? [stringOf(part['text'])] : [])).join('\n');
  const media = parts.filter(({ type }) => type !== 'text').map((part) => outputPart(part, to));
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...media];
}

function outputPart(part: JsonObject, to: PromptFor): ToolOutputPart {
  const { data, mediaType } = filePart(part, to.urls);
  return { type: 'file', data, mediaType };
}

function callsOf(
  message: JsonObject,
): readonly { readonly id: string; readonly name: string; readonly stated: unknown }[] {
  if (!Array.isArray(message['tool_calls'])) return [];
  return (message['tool_calls'] as readonly JsonObject[]).flatMap((call) => {
    const called = call?.['function'] as JsonObject | undefined;
    if (typeof called?.['name'] !== 'string') return [];
    return [{ id: stringOf(call['id']), name: called['name'], stated: called['arguments'] }];
  });
}

/**
 * Reads the arguments of calls as objects, the only form that these upstreams accept. The body was
 * bounded, but arguments are JSON in its strings: what is too deep, or exceeds `maxArgumentValues`
 * together with the calls before, stays text (spec:errors/7.16).
 */
function inputReader(): CallReader['inputOf'] {
  let leftValues = maxArgumentValues;
  return (stated) => {
    if (isObject(stated)) return stated;
    const text = stringOf(stated);
    if (text === '') return {};
    const values = countValues(text, { depth: bodyLimits.depth, values: leftValues });
    if (typeof values === 'string') return { arguments: text };
    leftValues -= values;
    try {
      const parsed: unknown = JSON.parse(text);
      if (isObject(parsed)) return parsed;
    } catch {
      // A model was cut off in the middle of its arguments; the conversation continues anyway.
    }
    return { arguments: text };
  };
}

function textParts(
  message: JsonObject,
  to: PromptFor,
): readonly { readonly text: string; readonly options: Options }[] {
  return partsOf(message, to).flatMap(({ part, options }) => {
    if (part['type'] !== 'text' && part['type'] !== 'refusal')
      throw new UnsupportedRequest(`a part of type ${String(part['type']).slice(0, 40)} in this place`);
    const text = stringOf(part['type'] === 'refusal' ? part['refusal'] : part['text']);
    return text === '' ? [] : [{ text, options }];
  });
}

interface Options {
  readonly providerOptions?: ProviderOptions;
}

/**
 * The parts of a message, or one for a plain string; a cache breakpoint of the message itself
 * applies to its last part.
 */
function partsOf(
  message: JsonObject,
  { quirks }: PromptFor,
): readonly { readonly part: JsonObject; readonly options: Options }[] {
  const { content } = message;
  const parts: readonly JsonObject[] = Array.isArray(content)
    ? content
    : typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : [];
  return parts.map((part, position) => {
    const own = cacheControlOf(part['cache_control']);
    const control = own ?? (position === parts.length - 1 ? cacheControlOf(message['cache_control']) : null);
    return { part, options: control === null ? {} : { providerOptions: quirks.cached(control) } };
  });
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
