import type { Api } from './judge.ts';

/*
 * Rules that providers state in prose or in their errors alone. Each names its source.
 */

export type Json = Readonly<Record<string, unknown>>;
/** Why a body is rejected; null when it is accepted. */
export type Rule = (body: Json) => string | null;

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
const isBlank = (text: unknown): boolean => typeof text === 'string' && text.trim() === '';

/** The first reason that a check gives for a message. */
function eachMessage(check: (message: Json, at: number, all: readonly Json[]) => string | null): Rule {
  return ({ messages }) => {
    for (const [at, message] of list(messages).entries()) {
      const reason = check(message, at, list(messages));
      if (reason !== null) return `messages[${at}]: ${reason}`;
    }
    return null;
  };
}

// ---------------------------------------------------------------- APIs like OpenAI's

const callsOf = (message: Json): readonly Json[] => list(message['tool_calls']);
const functionOf = (item: Json): Json => (item['function'] ?? {}) as Json;

/** OpenAI's errors: "messages with role 'tool' must be a response to a preceding message with 'tool_calls'". */
const resultsFollow: Rule = ({ messages }) => {
  let open: string[] = [];
  for (const [at, message] of list(messages).entries()) {
    if (message['role'] === 'tool') {
      const place = open.indexOf(String(message['tool_call_id']));
      if (place === -1) return `messages[${at}]: a result without its call`;
      open.splice(place, 1);
      continue;
    }
    if (open.length > 0) return `messages[${at}]: the calls ${open} have no results`;
    open = callsOf(message).map(({ id }) => String(id));
  }
  return open.length > 0 ? `the calls ${open} have no results` : null;
};

/** OpenAI's errors: "[] is too short - 'tool_calls'", "'tool_choice' is only allowed when 'tools' are specified". */
const noEmptyLists: Rule = (body) => {
  if (Array.isArray(body['tools']) && body['tools'].length === 0) return 'tools: []';
  if (body['tools'] === undefined && body['tool_choice'] !== undefined) return 'tool_choice without tools';
  if (body['tools'] === undefined && body['parallel_tool_calls'] !== undefined)
    return 'parallel_tool_calls without tools';
  return null;
};

const noEmptyMembers = eachMessage((message) => {
  if (Array.isArray(message['tool_calls']) && callsOf(message).length === 0) return 'tool_calls: []';
  const none = Object.entries(message).find(([name, value]) => value === null && name !== 'content');
  return none === undefined ? null : `${none[0]}: null`;
});

/** OpenAI's errors: "Invalid value for 'content': expected a string, got null". */
const hasContent = eachMessage((message) => {
  const { role, content } = message;
  const isNone = content === undefined || content === null;
  if (isNone && (role !== 'assistant' || callsOf(message).length === 0)) return `${role} without content`;
  if (Array.isArray(content) && content.length === 0) return 'content: []';
  return null;
});

/** https://platform.openai.com/docs/api-reference/chat/create: `FunctionObject.name`. */
function names(pattern: RegExp, maxLength: number): Rule {
  return (body) => {
    const all = [
      ...list(body['tools']).map(functionOf),
      ...list(body['messages']).flatMap((message) => callsOf(message).map(functionOf)),
      functionOf((body['tool_choice'] ?? {}) as Json),
    ].map(({ name }) => name);
    const wrong = all.find(
      (name) => typeof name === 'string' && (!pattern.test(name) || name.length > maxLength),
    );
    return wrong === undefined ? null : `the name of a tool: ${String(wrong)}`;
  };
}

function callIds(pattern: RegExp, maxLength: number): Rule {
  return eachMessage((message) => {
    const wrong = callsOf(message).find(
      ({ id }) => typeof id !== 'string' || !pattern.test(id) || id.length > maxLength,
    );
    return wrong === undefined ? null : `the id of a call: ${String(wrong['id'])}`;
  });
}

/** OpenAI's errors: "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'". */
const objectSchemas: Rule = ({ tools }) => {
  const wrong = list(tools)
    .map(functionOf)
    .find(({ parameters }) => parameters !== undefined && (parameters as Json | null)?.['type'] !== 'object');
  return wrong === undefined ? null : `the schema of the tool ${String(wrong['name'])}`;
};

/** The documented roles of an API. */
function roles(...known: readonly string[]): Rule {
  return eachMessage(({ role }) => (known.includes(String(role)) ? null : `the role ${String(role)}`));
}

function stops(max: number, check: (text: string) => boolean): Rule {
  return (body) => {
    const stated = body['stop'] ?? body['stop_sequences'];
    if (stated === undefined) return null;
    const all = Array.isArray(stated) ? (stated as readonly string[]) : [stated as string];
    if (all.length > max || all.length === 0) return `${all.length} stop sequences`;
    return all.every(check) ? null : `a stop sequence: ${JSON.stringify(all)}`;
  };
}

/** OpenAI's and DeepSeek's errors: "'messages' must contain the word 'json' in some form". */
const saysJson: Rule = (body) =>
  ((body['response_format'] ?? {}) as Json)['type'] === 'json_object' &&
  !/json/i.test(JSON.stringify(body['messages']))
    ? 'the messages lack the word json'
    : null;

/** https://api-docs.deepseek.com/guides/thinking_mode and the errors of the API. */
const deepseekForms: Rule = (body) => {
  if (((body['response_format'] ?? {}) as Json)['type'] === 'json_schema') return 'json_schema';
  const choice = body['tool_choice'];
  const isForced = choice !== undefined && choice !== 'auto' && choice !== 'none';
  const isOff = ((body['thinking'] ?? {}) as Json)['type'] === 'disabled';
  return isForced && !isOff ? 'a forced tool beside thinking' : null;
};

/** DeepSeek's and Moonshot's errors: "reasoning_content is missing in assistant tool call message". */
const thoughtsReturn: Rule = (body) =>
  ((body['thinking'] ?? {}) as Json)['type'] === 'disabled'
    ? null
    : eachMessage((message) =>
        callsOf(message).length > 0 && !hasText(message['reasoning_content']) ? 'no reasoning_content' : null,
      )(body);

const everywhere: readonly Rule[] = [resultsFollow, noEmptyLists, noEmptyMembers, hasContent, objectSchemas];
const plainRoles = roles('system', 'user', 'assistant', 'tool');
const openaiNames = names(/^[a-zA-Z0-9_-]+$/, 64);

// ---------------------------------------------------------------- Mistral

/** Mistral's errors: "Unexpected role 'user' after role 'tool'", "Expected last role User or Tool (or Assistant with prefix True)". */
const mistralOrder: Rule = ({ messages }) => {
  const all = list(messages);
  const at = all.findIndex(({ role }, position) => role === 'user' && all[position - 1]?.['role'] === 'tool');
  if (at !== -1) return `messages[${at}]: user after tool`;
  const last = all.at(-1);
  return last?.['role'] === 'assistant' && last['prefix'] !== true
    ? 'assistant without prefix at the end'
    : null;
};

/** Mistral's errors: "Assistant message must have either content or tool_calls, but not none". */
const mistralAnswers = eachMessage((message) =>
  message['role'] === 'assistant' && callsOf(message).length === 0 && !hasText(message['content'])
    ? 'an empty answer'
    : null,
);

function hasText(content: unknown): boolean {
  return typeof content === 'string' ? content !== '' : list(content).length > 0;
}

// ---------------------------------------------------------------- Anthropic and Bedrock

interface Block {
  readonly kind: 'text' | 'call' | 'result' | 'thought' | 'media' | 'other';
  readonly text?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
}

function anthropicBlock(block: Json): Block {
  switch (block['type']) {
    case 'text':
      return { kind: 'text', text: block['text'] };
    case 'tool_use':
      return { kind: 'call', id: block['id'], name: block['name'] };
    case 'tool_result':
      return { kind: 'result', id: block['tool_use_id'] };
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'thought' };
    default:
      return { kind: 'media' };
  }
}

function bedrockBlock(block: Json): Block {
  const { text, toolUse, toolResult, reasoningContent } = block as Readonly<Record<string, Json | undefined>>;
  if (text !== undefined) return { kind: 'text', text };
  if (toolUse !== undefined) return { kind: 'call', id: toolUse['toolUseId'], name: toolUse['name'] };
  if (toolResult !== undefined) return { kind: 'result', id: toolResult['toolUseId'] };
  return { kind: reasoningContent === undefined ? 'media' : 'thought' };
}

interface Turn {
  readonly role: unknown;
  readonly blocks: readonly Block[];
}

function turnsOf(body: Json, read: (block: Json) => Block): readonly Turn[] {
  return list(body['messages']).map(({ role, content }) => ({
    role,
    blocks:
      typeof content === 'string' ? [{ kind: 'text' as const, text: content }] : list(content).map(read),
  }));
}

/**
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use and the errors
 * of the API: results come first in the message behind their calls; ids are unique; texts have
 * visible characters; the user speaks first.
 */
function blocksOf(read: (block: Json) => Block, id: RegExp, name: RegExp): Rule {
  return (body) => {
    const turns = turnsOf(body, read);
    if (turns.length === 0) return 'at least one message is required';
    if (turns[0]?.role !== 'user') return 'the first message is not the user’s';
    const seen = new Set<unknown>();
    let open: unknown[] = [];
    for (const [at, { role, blocks }] of turns.entries()) {
      if (blocks.length === 0) return `messages[${at}]: no content`;
      if (at > 0 && turns[at - 1]?.role === role)
        return `messages[${at}]: two messages of the ${String(role)}`;
      const results = blocks.filter(({ kind }) => kind === 'result').map((block) => block.id);
      if (results.length !== open.length || open.some((call) => !results.includes(call)))
        return `messages[${at}]: results ${results} of the calls ${open}`;
      if (blocks.slice(0, results.length).some(({ kind }) => kind !== 'result'))
        return `messages[${at}]: a result behind other content`;
      for (const block of blocks) {
        if (block.kind === 'text' && isBlank(block.text)) return `messages[${at}]: a blank text`;
        if (block.kind !== 'call') continue;
        if (!id.test(String(block.id))) return `messages[${at}]: the id ${String(block.id)}`;
        if (seen.has(block.id)) return `messages[${at}]: the id ${String(block.id)} twice`;
        if (!name.test(String(block.name))) return `messages[${at}]: the name ${String(block.name)}`;
        seen.add(block.id);
      }
      open = blocks.filter(({ kind }) => kind === 'call').map((block) => block.id);
    }
    return open.length > 0 ? `the calls ${open} have no results` : null;
  };
}

/** Anthropic's errors: "Requests which include `tool_use` or `tool_result` blocks must define tools". */
const anthropicTools: Rule = (body) => {
  const hasCalls = turnsOf(body, anthropicBlock).some(({ blocks }) =>
    blocks.some(({ kind }) => kind === 'call'),
  );
  const tools = list(body['tools']);
  if (hasCalls && tools.length === 0) return 'calls without tools';
  if (tools.some(({ input_schema: schema }) => (schema as Json)['type'] !== 'object'))
    return 'input_schema.type';
  const odd = tools.find(({ name }) => !/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)));
  return odd === undefined ? null : `the name of a tool: ${String(odd['name'])}`;
};

/**
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking: the answer whose tools
 * are being used begins with its thought, no tool is forced, and the budget fits.
 */
const anthropicThinking: Rule = (body) => {
  const thinking = (body['thinking'] ?? {}) as Json;
  if (thinking['type'] !== 'enabled' && thinking['type'] !== 'adaptive') return null;
  const choice = ((body['tool_choice'] ?? {}) as Json)['type'];
  if (choice === 'any' || choice === 'tool') return 'thinking with a forced tool';
  if (thinking['type'] === 'enabled' && Number(thinking['budget_tokens']) >= Number(body['max_tokens']))
    return 'budget_tokens is not below max_tokens';
  const turns = turnsOf(body, anthropicBlock);
  const open = turns.findLastIndex(({ role }) => role === 'assistant');
  const last = turns[open];
  const isOpen = turns.slice(open + 1).some(({ blocks }) => blocks.some(({ kind }) => kind === 'result'));
  return isOpen && last?.blocks[0]?.kind !== 'thought' ? 'expected thinking before the calls' : null;
};

/** Anthropic's errors: "final assistant content cannot end with trailing whitespace". */
const anthropicEnd: Rule = (body) => {
  const last = turnsOf(body, anthropicBlock).at(-1);
  const text = last?.blocks.at(-1)?.text;
  return last?.role === 'assistant' && typeof text === 'string' && text !== text.trimEnd()
    ? 'whitespace at the end of the assistant’s message'
    : null;
};

/** The types of images are those of their bytes: Anthropic's and Bedrock's errors. */
const imageTypes: Rule = (body) => {
  const found = [...JSON.stringify(body).matchAll(/"media_type":"([^"]+)","data":"([^"]{8})/g)];
  const wrong = found.find(([, type, data]) => {
    const start = Buffer.from(data ?? '', 'base64').toString('latin1');
    if (start.startsWith('\xff\xd8')) return type !== 'image/jpeg';
    return start.startsWith('\x89PNG') && type !== 'image/png';
  });
  return wrong === undefined ? null : `an image labelled ${wrong[1]}`;
};

/** Bedrock's errors: "The text field in the ContentBlock object is blank"; `toolConfig` with tool blocks. */
const bedrockTexts: Rule = (body) => {
  const blocks = turnsOf(body, bedrockBlock).flatMap(({ blocks: all }) => all);
  if (blocks.some(({ kind }) => kind === 'call') && body['toolConfig'] === undefined)
    return 'calls without toolConfig';
  const results = list(body['messages']).flatMap(({ content }) =>
    list(content).flatMap(({ toolResult }) => list((toolResult as Json | undefined)?.['content'])),
  );
  if (results.some(({ text }) => isBlank(text))) return 'a blank result';
  if (list(body['system']).some(({ text }) => isBlank(text))) return 'a blank instruction';
  const stated = list(((body['inferenceConfig'] ?? {}) as Json)['stopSequences']) as readonly unknown[];
  return stated.some(isBlank) ? 'a blank stop sequence' : null;
};

// ---------------------------------------------------------------- Google

/** https://ai.google.dev/gemini-api/docs/function-calling and the errors of the API. */
const googleContents: Rule = (body) => {
  const contents = list(body['contents']);
  if (contents.length === 0) return 'contents is not specified';
  if (contents[0]?.['role'] !== 'user') return 'the first content is not the user’s';
  let open = 0;
  for (const [at, { role, parts }] of contents.entries()) {
    const all = list(parts);
    if (all.length === 0) return `contents[${at}]: no parts`;
    const results = all.filter(({ functionResponse }) => functionResponse !== undefined).length;
    const calls = all.filter(({ functionCall }) => functionCall !== undefined);
    if (results !== open) return `contents[${at}]: ${results} responses of ${open} calls`;
    if (calls.length > 0 && role !== 'model') return `contents[${at}]: a call of the ${String(role)}`;
    const wrong = calls.find(({ functionCall }) => !isGoogleName((functionCall as Json)['name']));
    if (wrong !== undefined) return `contents[${at}]: the name ${JSON.stringify(wrong)}`;
    open = calls.length;
  }
  const declared = list(body['tools']).flatMap(({ functionDeclarations }) => list(functionDeclarations));
  const odd = declared.find(({ name }) => !isGoogleName(name));
  return odd === undefined ? null : `the name of a function: ${String(odd['name'])}`;
};

/** https://ai.google.dev/api/caching#FunctionDeclaration. */
function isGoogleName(name: unknown): boolean {
  return typeof name === 'string' && /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name);
}

const byApi: Readonly<Record<Api, readonly Rule[]>> = {
  openai: [...everywhere, openaiNames, saysJson, callIds(/^/, 40), stops(4, (text) => text !== '')],
  azure: [...everywhere, openaiNames, saysJson, callIds(/^/, 40), stops(4, (text) => text !== '')],
  // https://api-docs.deepseek.com/api/create-chat-completion
  deepseek: [...everywhere, plainRoles, openaiNames, saysJson, deepseekForms, thoughtsReturn],
  // https://platform.moonshot.ai/docs/api/chat
  moonshot: [...everywhere, plainRoles, names(/^[a-zA-Z_][a-zA-Z0-9_-]*$/, 63), thoughtsReturn],
  mistral: [
    ...everywhere,
    plainRoles,
    openaiNames,
    callIds(/^[a-zA-Z0-9]{9}$/, 9),
    mistralOrder,
    mistralAnswers,
  ],
  // https://docs.x.ai/docs/api-reference#chat-completions
  xai: [...everywhere, plainRoles, openaiNames],
  groq: [...everywhere, plainRoles, openaiNames, stops(4, (text) => text !== '')],
  together: [...everywhere, plainRoles, openaiNames],
  fireworks: [...everywhere, plainRoles, openaiNames],
  vllm: [...everywhere, plainRoles],
  sglang: [...everywhere, plainRoles],
  generic: [...everywhere, plainRoles],
  anthropic: [
    blocksOf(anthropicBlock, /^[a-zA-Z0-9_-]+$/, /^[a-zA-Z0-9_-]{1,200}$/),
    anthropicTools,
    anthropicThinking,
    anthropicEnd,
    imageTypes,
    stops(Number.POSITIVE_INFINITY, (text) => !isBlank(text)),
    ({ system }) => (list(system).some(({ text }) => isBlank(text)) ? 'a blank instruction' : null),
  ],
  bedrock: [blocksOf(bedrockBlock, /^[a-zA-Z0-9_-]{1,64}$/, /^[a-zA-Z0-9_-]{1,64}$/), bedrockTexts],
  google: [googleContents],
};

/** The rules of an API beyond its schema. */
export function rulesOf(api: Api): readonly Rule[] {
  return byApi[api];
}
