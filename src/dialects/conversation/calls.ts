import { isObject, type JsonObject, parseJson, wellFormed } from '../../wire/json.ts';
import type { NoteChange } from '../dialect.ts';
import { isBlank, noOutput } from './messages.ts';
import { Spellings } from './names.ts';
import type { MessageRules } from './rules.ts';

/** What the calls of a conversation are written with. */
export interface CallsFor {
  readonly rules: MessageRules;
  readonly names: Spellings | null;
  readonly note: NoteChange;
}

/** A conversation in which the results of each message's calls follow it directly. */
export interface Ordered {
  readonly messages: readonly JsonObject[];
  /** The tools that were called, by the names that the upstream reads. */
  readonly called: ReadonlySet<string>;
}

/**
 * Puts the results of calls directly behind the message with the calls, in their order, with ids
 * and names that the upstream accepts; what stood between them follows. A call without a result
 * gets one without output; a result without its call becomes text of the user.
 */
export function orderCalls(messages: readonly JsonObject[], { rules, names, note }: CallsFor): Ordered {
  const called = new Set<string>();
  if (!messages.some(hasCallsOrResult)) return { messages, called };
  const results = resultsById(messages);
  const taken = new Set<JsonObject>();
  const ids = new CallIds(rules);
  names?.reserve(namesIn(messages));
  const ordered: JsonObject[] = [];
  for (const [position, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      if (!taken.has(message)) ordered.push(orphan(message, note));
      continue;
    }
    const calls = callsOf(message);
    if (calls.length === 0) {
      ordered.push(message);
      continue;
    }
    const written = calls.map((call) => {
      const own = textOf(call['id']);
      const id = ids.next(own);
      const result = results.take(own, position, taken);
      if (result === null) note('messages', 'changed');
      return { own, id, call: writeCall(call, id, names), result };
    });
    for (const { call } of written) called.add(textOf((call['function'] as JsonObject)['name']));
    const renamed = new Map(written.map(({ own, id }) => [own, id]));
    ordered.push({
      ...message,
      tool_calls: written.map(({ call }, index) => (rules.numbersCalls ? { ...call, index } : call)),
      ...detailsWith(message, renamed),
    });
    for (const { id, result } of written) ordered.push(resultWith(result, id, names, rules));
  }
  return { messages: ordered, called };
}

function hasCallsOrResult(message: JsonObject): boolean {
  return message['role'] === 'tool' || Array.isArray(message['tool_calls']);
}

/** The calls of an assistant's message that name a function. */
function callsOf(message: JsonObject): readonly JsonObject[] {
  const { role, tool_calls: calls } = message;
  if (role !== 'assistant' || !Array.isArray(calls)) return [];
  return calls.filter((call: unknown): call is JsonObject => isObject(call) && isObject(call['function']));
}

function namesIn(messages: readonly JsonObject[]): readonly string[] {
  return messages.flatMap((message) =>
    callsOf(message).map((call) => textOf((call['function'] as JsonObject)['name'])),
  );
}

/** The results of a conversation, each of which belongs to one call before it. */
function resultsById(messages: readonly JsonObject[]): {
  take(id: string, after: number, taken: Set<JsonObject>): JsonObject | null;
} {
  const byId = new Map<string, { readonly position: number; readonly message: JsonObject }[]>();
  for (const [position, message] of messages.entries()) {
    if (message['role'] !== 'tool') continue;
    const id = textOf(message['tool_call_id']);
    const list = byId.get(id);
    if (list === undefined) byId.set(id, [{ position, message }]);
    else list.push({ position, message });
  }
  return {
    take(id, after, taken) {
      const list = byId.get(id) ?? [];
      while (list[0] !== undefined && list[0].position < after) list.shift();
      const next = list.shift();
      if (next === undefined) return null;
      taken.add(next.message);
      return next.message;
    },
  };
}

/** The ids of calls in the order of the conversation: each is used once where the API has a rule. */
class CallIds {
  readonly #spellings: Spellings | null;
  readonly #used = new Set<string>();

  constructor({ ids }: MessageRules) {
    this.#spellings = ids === null ? null : new Spellings(ids);
  }

  next(id: string): string {
    if (this.#spellings === null) return id;
    let text = id;
    for (let turn = 2; this.#used.has(text); turn += 1) text = `${id}_${turn}`;
    this.#used.add(text);
    return this.#spellings.of(text);
  }
}

function writeCall(call: JsonObject, id: string, names: Spellings | null): JsonObject {
  const called = call['function'] as JsonObject;
  const name = textOf(called['name']);
  const written = { ...called, name: names?.of(name) ?? name, arguments: argumentsOf(called['arguments']) };
  return { ...call, id, type: 'function', function: written };
}

/** The arguments as the text of JSON that every API of this form requires. */
function argumentsOf(stated: unknown): string {
  if (typeof stated === 'string') return isBlank(stated) ? '{}' : withoutHalfPairs(stated);
  return stated == null ? '{}' : JSON.stringify(stated);
}

/** Arguments are JSON inside JSON: an escape in them may state half of a surrogate pair too. */
function withoutHalfPairs(text: string): string {
  const parsed = text.includes('\\u') ? parseJson(Buffer.from(text)) : null;
  if (parsed?.kind !== 'value' || !parsed.hasSurrogates) return text;
  return JSON.stringify(wellFormed(parsed.value));
}

/** Reasoning that belongs to a call names it by its id. */
function detailsWith(
  { reasoning_details: details }: JsonObject,
  renamed: ReadonlyMap<string, string>,
): object {
  if (!Array.isArray(details)) return {};
  return {
    reasoning_details: details.map((detail: unknown) => {
      const id = isObject(detail) ? renamed.get(textOf(detail['id'])) : undefined;
      return id === undefined ? detail : { ...(detail as JsonObject), id };
    }),
  };
}

function resultWith(
  result: JsonObject | null,
  id: string,
  names: Spellings | null,
  rules: MessageRules,
): JsonObject {
  if (result === null) return { role: 'tool', tool_call_id: id, content: noOutput };
  const { name, ...rest } = result;
  const isNamed = typeof name === 'string' && (rules.members?.tool.includes('name') ?? true);
  return { ...rest, tool_call_id: id, ...(isNamed ? { name: names?.of(name) ?? name } : {}) };
}

/** A result whose call is not in the conversation: its text and media, as the user's. */
function orphan(message: JsonObject, note: NoteChange): JsonObject {
  note('messages', 'changed');
  return { role: 'user', content: message['content'] };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
