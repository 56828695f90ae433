import { isObject, type JsonObject } from '../../wire/json.ts';
import type { NoteChange, PricedServices } from '../dialect.ts';
import { withPricedCache } from './dearer-services.ts';
import { isBlank } from './messages.ts';
import type { Spellings } from './names.ts';
import type { MessageRules } from './rules.ts';

/** What the tools of a request are written with. */
export interface ToolsFor {
  readonly rules: MessageRules;
  readonly priced: PricedServices;
  readonly names: Spellings | null;
  /** The tools that the conversation called. */
  readonly called: ReadonlySet<string>;
  readonly note: NoteChange;
}

/** The parameters of a request with the tools and stop sequences that the upstream accepts. */
export function conformTools(parameters: JsonObject, of: ToolsFor): JsonObject {
  const { tools: given, tool_choice: choice, parallel_tool_calls: parallel, stop, ...rest } = parameters;
  const declared = Array.isArray(given) ? (given as readonly JsonObject[]) : [];
  const tools = declared.length > 0 ? declared.map((tool) => writeTool(tool, of)) : toolsOfCalls(of);
  const stops = stopsOf(stop, of);
  const written = { ...rest, ...(stops === undefined ? {} : { stop: stops }) };
  if (tools.length === 0) {
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls'])
      if (parameters[name] !== undefined) of.note(name, 'dropped');
    return written;
  }
  if (declared.length === 0) of.note('tools', 'changed');
  const isNone = choice === 'none' && !of.rules.choosesNone;
  // Without tools nothing can be called; the calls of a conversation require them.
  if (isNone && of.called.size === 0) return written;
  if (isNone) of.note('tool_choice', 'changed');
  const isChosen = choice !== undefined && declared.length > 0 && !isNone;
  return {
    ...written,
    tools,
    ...(isChosen ? { tool_choice: writeChoice(choice, of) } : {}),
    ...(parallel === undefined || declared.length === 0 ? {} : { parallel_tool_calls: parallel }),
  };
}

/** The names of the tools that a request declares. */
export function declaredNames({ tools }: JsonObject): readonly string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const name = isObject(tool) && isObject(tool['function']) ? tool['function']['name'] : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}

function writeTool(tool: JsonObject, { rules, priced, names, note }: ToolsFor): JsonObject {
  const declared = isObject(tool) ? tool['function'] : undefined;
  if (!isObject(declared)) return tool;
  const { name, description, parameters, strict, ...rest } = declared;
  if (strict != null && !rules.strictTools) note('tools.strict', 'dropped');
  const isDescribed = typeof description === 'string' && !(rules.noBlankText && isBlank(description));
  const written = {
    ...rest,
    ...(typeof name === 'string' ? { name: names?.of(name) ?? name } : {}),
    ...(isDescribed ? { description } : {}),
    parameters: objectSchema(parameters ?? {}),
    ...(strict == null || !rules.strictTools ? {} : { strict }),
  };
  return { ...withPricedCache(tool, priced, note), function: written };
}

/**
 * A schema of an object: clients leave out its type where a tool takes no parameters, and
 * generators of schemas write a list of types.
 */
function objectSchema(schema: unknown): unknown {
  return isObject(schema) && typeof schema['type'] !== 'string'
    ? { properties: {}, ...schema, type: 'object' }
    : schema;
}

/** The tools that a conversation called, where the upstream requires that they are declared. */
function toolsOfCalls({ rules, called }: ToolsFor): readonly JsonObject[] {
  if (!rules.declaresCalled) return [];
  return [...called].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  }));
}

/** Whether a choice requires a call. */
export function isForced(choice: unknown): boolean {
  return choice != null && choice !== 'auto' && choice !== 'none';
}

function writeChoice(choice: unknown, { rules, names, note }: ToolsFor): unknown {
  if (!rules.forcesTool && isForced(choice)) {
    note('tool_choice', 'changed');
    return 'auto';
  }
  if (names === null || !isObject(choice) || !isObject(choice['function'])) return choice;
  const { name } = choice['function'];
  if (typeof name !== 'string') return choice;
  return { ...choice, function: { ...choice['function'], name: names.of(name) } };
}

function stopsOf(stop: unknown, { rules, note }: ToolsFor): unknown {
  if (stop === undefined) return undefined;
  const all = Array.isArray(stop) ? (stop as readonly string[]) : [stop as string];
  const visible = all.filter((text) => text !== '' && !(rules.noBlankStop && isBlank(text)));
  const kept = rules.maxStops === null ? visible : visible.slice(0, rules.maxStops);
  const isAlone = !Array.isArray(stop);
  if (kept.length === all.length && !(isAlone && rules.listsStops)) return stop;
  note('stop', kept.length === 0 ? 'dropped' : 'changed');
  return kept.length === 0 ? undefined : kept;
}
