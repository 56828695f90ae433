import type { CompletionRequest } from '../../wire/chat.ts';
import { isObject, type JsonObject } from '../../wire/json.ts';
import type { NoteChange, ParameterChange, PricedServices } from '../dialect.ts';
import { orderCalls } from './calls.ts';
import { requestsDearerService, withoutDearerService } from './dearer-services.ts';
import { cleanMessage, isBlank } from './messages.ts';
import { Spellings } from './names.ts';
import type { MessageRules } from './rules.ts';
import { conformTools, declaredNames, isForced } from './tools.ts';

/** A request in the form that an upstream accepts. */
export interface Conformed {
  readonly request: CompletionRequest;
  /** What is not sent as received; a part that only takes another form has no entry. */
  readonly changes: readonly ParameterChange[];
  /** The client's own name of a tool that the upstream names; null: they are the same. */
  readonly ownName: ((name: string) => string) | null;
}

/** Stands for the user's message where an upstream requires one and the client sent none. */
const noMessage = '(no message)';
/** Stands for an answer of the model between the result of a tool and the user's message. */
const noAnswer = '(no answer)';
const jsonInstruction = 'Respond with one JSON object and with nothing else.';
const noCallInstruction = 'Answer without calling a tool.';
const callInstruction = 'Answer by calling a tool.';

/**
 * The conversation and the tools of a request in the form that an upstream requires. Nothing is
 * dropped in silence: what cannot be expressed is among the changes. A request that fits is
 * returned as it is. Throws `UnsupportedRequest` for a part that the upstream cannot receive.
 */
export function conform(request: CompletionRequest, rules: MessageRules, priced: PricedServices): Conformed {
  if (request.kind === 'chat' && isPlain(request, rules))
    return { request, changes: noChanges, ownName: null };
  const changed = new Map<string, ParameterChange['change']>();
  const note: NoteChange = (parameter, change) => {
    changed.set(parameter, change);
  };
  if (request.kind === 'text') {
    const ordinary = withoutDearerService(request.parameters, priced, note);
    const parameters = conformTools(ordinary, { rules, priced, names: null, called: new Set(), note });
    return { request: { ...request, parameters }, changes: changesOf(changed), ownName: null };
  }
  const names = rules.names === null ? null : new Spellings(rules.names);
  // Before any name gets another spelling: none may get that of a declared tool.
  names?.reserve(declaredNames(request.parameters));
  const cleaned = (request.input as readonly JsonObject[]).flatMap((message) =>
    cleanMessage(message, { rules, priced, note }),
  );
  const { messages: ordered, called } = orderCalls(cleaned, { rules, names, note });
  const ordinary = withoutDearerService(request.parameters, priced, note);
  const parameters = conformTools(ordinary, { rules, priced, names, called, note });
  const { parameters: written, instructions } = withInstructions(parameters, {
    given: request,
    rules,
    names,
    called,
    note,
  });
  const messages = completed(withSystem(ordered, instructions), rules);
  return {
    request: { ...request, input: messages, parameters: written },
    changes: changesOf(changed),
    ownName: names?.isUsed === true ? (name) => names.textOf(name) : null,
  };
}

function changesOf(changed: ReadonlyMap<string, ParameterChange['change']>): readonly ParameterChange[] {
  return [...changed].map(([parameter, change]) => ({ parameter, change }));
}

const noChanges: readonly ParameterChange[] = [];

/** Whether nothing of a request can need another form: most requests. */
function isPlain({ input, parameters }: CompletionRequest, rules: MessageRules): boolean {
  if (requestsDearerService(parameters)) return false;
  const { tools, stop, response_format: format, tool_choice, parallel_tool_calls: parallel } = parameters;
  if (tools !== undefined || tool_choice !== undefined || parallel !== undefined) return false;
  if (stop !== undefined && (rules.maxStops !== null || rules.noBlankStop)) return false;
  if (format !== undefined && (rules.jsonObject !== 'given' || !rules.jsonSchema)) return false;
  let isStarted = false;
  let last: unknown;
  for (const message of input as readonly JsonObject[]) {
    const { role, content } = message;
    for (const name in message) if (name !== 'role' && name !== 'content') return false;
    if (typeof content !== 'string' || content === '' || (rules.noBlankText && isBlank(content)))
      return false;
    if (role !== 'system' && role !== 'user' && role !== 'assistant') return false;
    if (role === 'assistant' && !isStarted && rules.firstIsUser) return false;
    isStarted ||= role !== 'system';
    last = role;
  }
  return (isStarted || !rules.firstIsUser) && !(rules.marksPrefix && last === 'assistant');
}

/** What an API reads from an instruction, and the parameters without it. */
function withInstructions(
  parameters: JsonObject,
  { given, rules, names, called, note }: Stated,
): { readonly parameters: JsonObject; readonly instructions: readonly string[] } {
  const { response_format: stated, ...rest } = parameters;
  const { tool_choice: choice } = given.parameters;
  const callsNone = !rules.choosesNone && choice === 'none' && called.size > 0;
  const callsOne = !rules.forcesTool && isForced(choice) && parameters['tool_choice'] !== undefined;
  const instructions = [
    ...(callsNone ? [noCallInstruction] : []),
    ...(callsOne ? [callInstructionOf(choice, names)] : []),
  ];
  const format = isObject(stated) ? stated : {};
  if (format['type'] === 'json_schema' && !rules.jsonSchema) {
    note('response_format', 'changed');
    const { schema } = (format['json_schema'] ?? {}) as JsonObject;
    const described = `${jsonInstruction} It matches this JSON schema: ${JSON.stringify(schema ?? {})}`;
    return {
      parameters: { ...rest, response_format: { type: 'json_object' } },
      instructions: [...instructions, described],
    };
  }
  if (format['type'] !== 'json_object' || rules.jsonObject === 'given') return { parameters, instructions };
  if (rules.jsonObject === 'instruction') {
    note('response_format', 'changed');
    return { parameters: rest, instructions: [...instructions, jsonInstruction] };
  }
  const isNamed = /json/i.test(JSON.stringify(given.input));
  return { parameters, instructions: isNamed ? instructions : [...instructions, jsonInstruction] };
}

function callInstructionOf(choice: unknown, names: Spellings | null): string {
  const tool = isObject(choice) && isObject(choice['function']) ? choice['function']['name'] : undefined;
  return typeof tool === 'string'
    ? `Answer by calling the tool ${names?.of(tool) ?? tool}.`
    : callInstruction;
}

interface Stated {
  readonly given: CompletionRequest;
  readonly rules: MessageRules;
  readonly names: Spellings | null;
  readonly called: ReadonlySet<string>;
  readonly note: NoteChange;
}

/** Instructions behind those of the system at the start. */
function withSystem(messages: readonly JsonObject[], texts: readonly string[]): readonly JsonObject[] {
  if (texts.length === 0) return messages;
  const at = messages.findIndex(({ role }) => !isOfSystem(role));
  const start = at === -1 ? messages.length : at;
  const added = texts.map((content) => ({ role: 'system', content }));
  return [...messages.slice(0, start), ...added, ...messages.slice(start)];
}

/** Adds the messages that the order of roles requires. */
function completed(messages: readonly JsonObject[], rules: MessageRules): readonly JsonObject[] {
  const whole = rules.firstIsUser ? withUserFirst(messages) : messages;
  const separated = rules.answersTools ? whole.flatMap(withAnswer) : whole;
  const last = separated.at(-1);
  if (!rules.marksPrefix || last?.['role'] !== 'assistant' || Array.isArray(last['tool_calls']))
    return separated;
  return [...separated.slice(0, -1), { ...last, prefix: true }];
}

/** A conversation of instructions alone: the last one becomes the user's message. */
function withUserFirst(messages: readonly JsonObject[]): readonly JsonObject[] {
  const first = messages.findIndex(({ role }) => !isOfSystem(role));
  if (first === -1) {
    const last = messages.at(-1) ?? { content: noMessage };
    return [...messages.slice(0, -1), { ...last, role: 'user' }];
  }
  if (messages[first]?.['role'] === 'user') return messages;
  return [...messages.slice(0, first), { role: 'user', content: noMessage }, ...messages.slice(first)];
}

function withAnswer(
  message: JsonObject,
  position: number,
  all: readonly JsonObject[],
): readonly JsonObject[] {
  const isBehindTool = message['role'] === 'user' && all[position - 1]?.['role'] === 'tool';
  return isBehindTool ? [{ role: 'assistant', content: noAnswer }, message] : [message];
}

function isOfSystem(role: unknown): boolean {
  return role === 'system' || role === 'developer';
}
