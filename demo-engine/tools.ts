import { arrayOf, type Fields, objectOf, stringOf } from './fields.ts';
import { Refusal } from './refusal.ts';

/**
 * Calling tools. The model itself decides to call one: it begins its answer with the token `<|use|>`, for which it was
 * trained on a few questions. From there a grammar holds it to the names it was given, as engines do for larger models,
 * and after `<|with|>` to the words of the question, one to three in a row, of which it chooses the argument.
 */
export interface Tool {
  readonly name: string;
  /** The parameter that takes the argument; null for a tool that needs none. */
  readonly parameter: string | null;
  /** True when a call without the argument would be wrong. */
  readonly needsArgument: boolean;
}

/** The tools of a request and whether the client insists on a call. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly forced: boolean;
}

/** A call as the model made it. */
export interface ToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** The token that begins a call, as text and as its id (`training/bpe.ts`). */
export const callMark = '<|use|>';
const callToken = 7;
const argumentMark = '<|with|>';

/**
 * Reads `tools` and `tool_choice`. Left out is a tool that this model could not fill: one that needs more than one string,
 * or one string when `question`, from which it would come, has no words.
 */
export function toolUseOf(body: Fields, question: string): ToolUse {
  const all = arrayOf(body['tools'] ?? [], 'tools').map((entry) => toolOf(objectOf(entry, 'tools')));
  const hasWords = argumentsIn(question).length > 0;
  const usable = all.flatMap((tool) => (tool === null || (tool.needsArgument && !hasWords) ? [] : [tool]));
  const choice = body['tool_choice'] ?? 'auto';
  if (choice === 'none') return { tools: [], forced: false };
  if (choice === 'auto') return { tools: usable, forced: false };
  if (choice === 'required') return { tools: usable, forced: usable.length > 0 };
  const { function: wanted } = objectOf(choice, 'tool_choice');
  const name = stringOf(objectOf(wanted, 'tool_choice.function')['name'], 'tool_choice.function.name');
  const named = usable.filter((tool) => tool.name === name);
  if (named.length === 0)
    throw new Refusal(400, `there is no tool "${name}" that this model can call`, 'tool_choice');
  return { tools: named, forced: true };
}

/**
 * What makes the binding hold a call to `tools` and its argument to the words of `question`: at once when a call is
 * forced, else from the call mark on. No options when there is nothing to call.
 */
export function grammarOptionsOf({ tools, forced }: ToolUse, question: string): object {
  if (tools.length === 0) return {};
  const options = {
    grammar: callGrammarOf(tools, argumentsIn(question)),
    preserved_tokens: [callMark, argumentMark],
  };
  if (forced) return options;
  return {
    ...options,
    grammar_lazy: true,
    grammar_triggers: [{ type: 0, value: callMark, token: callToken }],
  };
}

/** The grammar, in llama.cpp's notation, of a call of one of `tools`. */
function callGrammarOf(tools: readonly Tool[], choices: readonly string[]): string {
  const calls = tools.map(({ name, parameter, needsArgument }) => {
    if (parameter === null || choices.length === 0) return quoted(` ${name}`);
    return `${quoted(` ${name}`)} (${quoted(argumentMark)} argument)${needsArgument ? '' : '?'}`;
  });
  const argument =
    choices.length === 0
      ? ''
      : `argument ::= ${choices.map((choice) => quoted(` ${choice.toLowerCase()}`)).join(' | ')}\n`;
  return `root ::= ${quoted(callMark)} (${calls.join(' | ')})\n${argument}`;
}

/** What of a question can be an argument: one to three words in a row, and the beginnings of Korean words, for their particles. */
export function argumentsIn(question: string): readonly string[] {
  const words = question
    .split(/\s+/)
    .map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
    .filter((word) => /^[\p{L}\p{N}.'_-]{1,40}$/u.test(word))
    .slice(-30);
  const spans = words.flatMap((_, at) =>
    [1, 2, 3]
      .filter((count) => at + count <= words.length)
      .map((count) => words.slice(at, at + count).join(' ')),
  );
  const stems = words
    .filter((word) => /^[가-힣]+$/.test(word))
    .flatMap((word) =>
      Array.from({ length: Math.max(0, word.length - 2) }, (_, cut) => word.slice(0, cut + 2)),
    );
  return [...new Set([...spans, ...stems])];
}

/**
 * The call in a text that begins with the call mark, its argument as `question` writes it, capitals and all. Null when the
 * text ended before the call did.
 */
export function callIn(text: string, tools: readonly Tool[], question: string): ToolCall | null {
  const [name = '', argument] = text
    .slice(callMark.length)
    .split(argumentMark)
    .map((part) => part.trim());
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined || (tool.needsArgument && argument === undefined)) return null;
  if (tool.parameter === null || argument === undefined) return { name, arguments: '{}' };
  const written = argumentsIn(question).find((choice) => choice.toLowerCase() === argument) ?? argument;
  return { name, arguments: JSON.stringify({ [tool.parameter]: written }) };
}

/** A call of an earlier turn, back in the model's own words. */
export function callText(name: string, argument: string | null): string {
  return `${callMark} ${name}${argument === null ? '' : `${argumentMark} ${argument.toLowerCase()}`}`;
}

function toolOf(entry: Fields): Tool | null {
  if (entry['type'] !== 'function') return null;
  const definition = objectOf(entry['function'], 'tools.function');
  const name = stringOf(definition['name'], 'tools.function.name');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new Refusal(400, 'a tool name has 1 to 64 letters, digits, _ or -', 'tools');
  const schema = objectOf(definition['parameters'] ?? {}, 'tools.function.parameters');
  const properties = objectOf(schema['properties'] ?? {}, 'tools.function.parameters.properties');
  const required = arrayOf(schema['required'] ?? [], 'tools.function.parameters.required');
  const takesText = (key: string): boolean => {
    const { type, enum: allowed } = objectOf(properties[key] ?? {}, 'tools.function.parameters.properties');
    return type === 'string' && allowed === undefined;
  };
  const [needed] = required;
  if (required.length > 1 || (typeof needed === 'string' && !takesText(needed))) return null;
  const parameter = typeof needed === 'string' ? needed : (Object.keys(properties).find(takesText) ?? null);
  return { name, parameter, needsArgument: typeof needed === 'string' };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
