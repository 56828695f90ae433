import { arrayOf, type Fields, objectOf, stringOf } from './fields.ts';
import { Refusal } from './refusal.ts';

/**
 * Tool calls. The model decides: it begins its response with the token `<|use|>`, for which it was
 * trained on a few questions. From there a grammar restricts it to the given names, as engines do
 * for larger models, and after `<|with|>` to one to three consecutive words of the question as the
 * argument.
 */
export interface Tool {
  readonly name: string;
  /** The parameter for the argument; null for a tool without one. */
  readonly parameter: string | null;
  /** Whether the argument is required. */
  readonly needsArgument: boolean;
}

/** The tools of a request and whether the client requires a call. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly forced: boolean;
}

/** A call by the model. */
export interface ToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** The token that begins a call, as text and as its id (`tools/demo-model/bpe.ts`). */
export const callMark = '<|use|>';
const callToken = 7;
const argumentMark = '<|with|>';

/**
 * Parses `tools` and `tool_choice`. Ignores a tool that this model cannot call: one that needs more
 * than one string, or one string when `question`, its source, has no words.
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
  if (named.length === 0) throw new Refusal(400, `no tool "${name}" that this model can call`, 'tool_choice');
  return { tools: named, forced: true };
}

/**
 * The options of the binding that restrict a call to `tools` and its argument to the words of
 * `question`: from the start when a call is required, otherwise from the call token on. Empty when
 * there is nothing to call.
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

/**
 * The possible arguments from a question: one to three consecutive words, and the stems of Korean
 * words, without their particles.
 */
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
 * The call in a text that begins with the call token; the argument has the spelling and case of
 * `question`. Null when the text ended before the call.
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

/** A call of an earlier turn in the model's format. */
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
