/*
 * What an upstream requires of the messages and tools of a request, beyond their shape. Each row
 * is from the API's published schema or documentation; `test/providers` judges the requests of
 * generated conversations by the schemas.
 */

/** Texts that an upstream accepts as an id or a name. */
export interface TextRule {
  /** Of the whole text. */
  readonly pattern: RegExp;
  readonly maxLength: number;
  /** Every text has this length; such a text has letters and digits alone. */
  readonly exactLength?: number;
}

export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** What an upstream requires of a conversation. */
export interface MessageRules {
  /** Whether the role `developer` is known; it becomes `system` elsewhere. */
  readonly developer: boolean;
  /** Ids of tool calls; null: any. */
  readonly ids: TextRule | null;
  /** Names of tools; null: any. */
  readonly names: TextRule | null;
  /** Whether texts without a visible character are rejected. */
  readonly noBlankText: boolean;
  /** Whether the first message after the system's must be the user's. */
  readonly firstIsUser: boolean;
  /**
   * Whether tools must be declared as soon as a message has calls: tools are made from the calls
   * of a request that declares none.
   */
  readonly declaresCalled: boolean;
  /** Whether a user's message must not follow a tool's: an assistant's is placed between. */
  readonly answersTools: boolean;
  /** Whether an assistant's message at the end needs `prefix: true`. */
  readonly marksPrefix: boolean;
  /** The members of each role's message; null: unknown ones are ignored. */
  readonly members: Readonly<Record<Role, readonly string[]>> | null;
  /**
   * The types of the parts of each role's content, or `string` for plain text alone; null: those
   * that the dialect can express.
   */
  readonly parts: Readonly<Record<Role, readonly string[] | 'string'>> | null;
  /** The longest list of stop sequences; null: any. */
  readonly maxStops: number | null;
  /** Whether a stop sequence needs a visible character. */
  readonly noBlankStop: boolean;
  /** Whether one stop sequence must be a list too. */
  readonly listsStops: boolean;
  /** Whether a tool may be `strict`. */
  readonly strictTools: boolean;
  /** Whether a call states its position among those of its message. */
  readonly numbersCalls: boolean;
  /** Whether `tool_choice: none` is known; elsewhere an instruction states it. */
  readonly choosesNone: boolean;
  /** Whether a tool can be forced; elsewhere the model chooses, and an instruction states it. */
  readonly forcesTool: boolean;
  /**
   * How plain JSON is requested: `given`; `word`: the messages must have the word "json"; or by an
   * instruction alone.
   */
  readonly jsonObject: 'given' | 'word' | 'instruction';
  /** Whether a schema of the response is known; elsewhere plain JSON and an instruction state it. */
  readonly jsonSchema: boolean;
}

const anyText = /^/;
const word = /^[a-zA-Z0-9_-]+$/;

/** An API about which nothing is known but that it is like OpenAI's. */
export const openMessages: MessageRules = {
  developer: false,
  ids: null,
  names: null,
  noBlankText: false,
  firstIsUser: false,
  declaresCalled: false,
  answersTools: false,
  marksPrefix: false,
  members: null,
  parts: null,
  maxStops: null,
  noBlankStop: false,
  listsStops: false,
  choosesNone: true,
  forcesTool: true,
  strictTools: true,
  numbersCalls: false,
  jsonObject: 'given',
  jsonSchema: true,
};

/** A name of a tool at OpenAI and at most APIs like it. */
export const openaiNames: TextRule = { pattern: word, maxLength: 64 };

const media = ['text', 'image_url', 'input_audio', 'file'];

/** OpenAI: openapi.json, `ChatCompletionRequestMessage`; lengths from its errors. */
export const openaiMessages: MessageRules = {
  ...openMessages,
  developer: true,
  ids: { pattern: anyText, maxLength: 40 },
  names: openaiNames,
  members: {
    system: ['role', 'content', 'name'],
    user: ['role', 'content', 'name'],
    assistant: ['role', 'content', 'name', 'tool_calls', 'refusal', 'audio'],
    tool: ['role', 'content', 'tool_call_id'],
  },
  parts: { system: ['text'], user: media, assistant: ['text', 'refusal'], tool: ['text'] },
  maxStops: 4,
  jsonObject: 'word',
};

/** DeepSeek: https://api-docs.deepseek.com/guides/json_mode. */
export const deepseekMessages: MessageRules = {
  ...openMessages,
  names: openaiNames,
  jsonObject: 'word',
  jsonSchema: false,
};

/** Groq: `groq`, `CompletionCreateParams`. */
export const groqMessages: MessageRules = {
  ...openMessages,
  names: openaiNames,
  members: {
    system: ['role', 'content', 'name'],
    user: ['role', 'content', 'name'],
    assistant: ['role', 'content', 'name', 'tool_calls', 'reasoning'],
    tool: ['role', 'content', 'tool_call_id'],
  },
  parts: { system: ['text'], user: ['text', 'image_url'], assistant: ['text'], tool: ['text', 'image_url'] },
  maxStops: 4,
};

/** Mistral: `mistralai`, `ChatCompletionRequest`; ids and the order of roles from its errors. */
export const mistralMessages: MessageRules = {
  ...openMessages,
  ids: { pattern: /^[a-zA-Z0-9]{9}$/, maxLength: 9, exactLength: 9 },
  names: openaiNames,
  answersTools: true,
  marksPrefix: true,
  members: {
    system: ['role', 'content'],
    user: ['role', 'content'],
    assistant: ['role', 'content', 'tool_calls', 'prefix'],
    tool: ['role', 'content', 'tool_call_id', 'name'],
  },
  parts: {
    system: ['text'],
    user: ['text', 'image_url', 'document_url', 'file', 'input_audio'],
    assistant: ['text', 'thinking'],
    tool: ['text', 'image_url'],
  },
};

/** Together: `together`, `CompletionCreateParams`. */
export const togetherMessages: MessageRules = {
  ...openMessages,
  names: openaiNames,
  members: {
    system: ['role', 'content', 'name'],
    user: ['role', 'content', 'name'],
    assistant: ['role', 'content', 'name', 'tool_calls', 'reasoning', 'reasoning_content'],
    tool: ['role', 'content', 'tool_call_id', 'name'],
  },
  parts: {
    system: 'string',
    user: ['text', 'image_url', 'video_url', 'audio_url', 'input_audio'],
    assistant: 'string',
    tool: 'string',
  },
  listsStops: true,
  strictTools: false,
  numbersCalls: true,
};

/** Fireworks: `fireworks-ai`, `ChatMessage`. */
export const fireworksMessages: MessageRules = {
  ...openMessages,
  names: openaiNames,
  members: {
    system: ['role', 'content'],
    user: ['role', 'content'],
    assistant: ['role', 'content', 'tool_calls', 'reasoning_content'],
    tool: ['role', 'content', 'tool_call_id'],
  },
  parts: { system: ['text'], user: ['text', 'image_url'], assistant: ['text'], tool: ['text'] },
};

/** transformers: `UNUSED_CHAT_COMPLETION_FIELDS` of `cli/serving/chat_completion.py`. */
export const transformersMessages: MessageRules = {
  ...openMessages,
  names: openaiNames,
  choosesNone: false,
  forcesTool: false,
  jsonObject: 'word',
  jsonSchema: false,
};

/** Anthropic: https://platform.claude.com/docs/en/api/messages, and its errors. */
export const anthropicMessages: MessageRules = {
  ...openMessages,
  ids: { pattern: word, maxLength: 256 },
  names: { pattern: word, maxLength: 128 },
  noBlankText: true,
  firstIsUser: true,
  declaresCalled: true,
  noBlankStop: true,
  jsonObject: 'instruction',
};

/** Bedrock: `botocore`, `ConverseRequest`; the order of roles from its documentation. */
export const bedrockMessages: MessageRules = {
  ...anthropicMessages,
  ids: { pattern: word, maxLength: 64 },
  names: { pattern: word, maxLength: 64 },
  choosesNone: false,
  maxStops: 2500,
};

/** Google: https://ai.google.dev/api/caching, `FunctionDeclaration.name`. */
export const googleMessages: MessageRules = {
  ...openMessages,
  names: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/, maxLength: 64 },
  noBlankText: true,
  firstIsUser: true,
  maxStops: 5,
};
