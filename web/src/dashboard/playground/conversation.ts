/** What a conversation of the playground consists of. Values are immutable: the store replaces them. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** An image of a message. */
export interface Picture {
  readonly name: string;
  /** Empty: the page was loaded again, and the tab had no room for the image. */
  readonly dataUrl: string;
}

/** A call of a tool that the model wants. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, as far as it has arrived. */
  readonly args: string;
}

/** Why a request failed. */
export interface Failure {
  /** 0: there was no response. */
  readonly status: number;
  readonly type: string;
  /** In the API's words, which are in both languages. */
  readonly words: string;
  /** Of the request; null: there was no response. */
  readonly requestId: string | null;
}

/** A candidate that failed, from the record of the request. */
export interface FailedAttempt {
  readonly provider: string;
  readonly status: number | null;
  readonly failure: string;
  /** The upstream's own sentence. */
  readonly message: string | null;
}

/** `waiting` for the first byte, then `streaming`; `settling` while the cost of a cut answer is read. */
export type RunState = 'waiting' | 'streaming' | 'settling' | 'ended';

/** The request behind an answer. */
export interface Run {
  readonly state: RunState;
  readonly model: string;
  /** Who answered; null until the first byte. */
  readonly provider: string | null;
  /** With the first byte, or, of a request that failed before, with its record. */
  readonly generationId: string | null;
  readonly startedMs: number;
  readonly firstMs: number | null;
  readonly endedMs: number | null;
  /** Our own count of the prompt, until the server's arrives. */
  readonly promptEstimate: number;
  /** Our own count of what has arrived of the answer. */
  readonly answerEstimate: number;
  /** What is billed: null until the server has said so. */
  readonly bill: Bill | null;
  readonly finishReason: string | null;
  readonly isStopped: boolean;
  readonly failure: Failure | null;
  readonly failedAttempts: readonly FailedAttempt[];
}

/** The tokens and the cost of one request as the server states them. */
export interface Bill {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly costMicro: string;
}

export interface Message {
  readonly id: number;
  readonly role: Role;
  readonly text: string;
  readonly pictures: readonly Picture[];
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** Of a tool's result: the call that it belongs to. */
  readonly toolCallId: string | null;
  /** Of an answer: the request that gave it. */
  readonly run: Run | null;
}

let nextId = 1;

/** A message with nothing but what is stated. */
export function newMessage(role: Role, stated: Partial<Omit<Message, 'id' | 'role'>> = {}): Message {
  const id = nextId;
  nextId += 1;
  return {
    id,
    role,
    text: '',
    pictures: [],
    reasoning: '',
    toolCalls: [],
    toolCallId: null,
    run: null,
    ...stated,
  };
}

/** A run that has just begun. */
export function newRun(model: string, promptEstimate: number): Run {
  return {
    state: 'waiting',
    model,
    provider: null,
    generationId: null,
    startedMs: Date.now(),
    firstMs: null,
    endedMs: null,
    promptEstimate,
    answerEstimate: 0,
    bill: null,
    finishReason: null,
    isStopped: false,
    failure: null,
    failedAttempts: [],
  };
}

/** Makes the ids of messages that are added go on behind those of a restored conversation. */
export function continueIds(messages: readonly Message[]): void {
  nextId = Math.max(nextId, ...messages.map(({ id }) => id + 1));
}

/** The messages as the API takes them. An answer that failed before its first word is left out. */
export function wireMessages(messages: readonly Message[]): readonly object[] {
  return messages.filter((message) => !isEmptyAnswer(message)).map(wireMessage);
}

function isEmptyAnswer({ role, text, toolCalls }: Message): boolean {
  return role === 'assistant' && text === '' && toolCalls.length === 0;
}

function wireMessage({ role, text, pictures, toolCalls, toolCallId }: Message): object {
  if (role === 'tool') return { role, tool_call_id: toolCallId, content: text };
  const parts = pictures
    .filter(({ dataUrl }) => dataUrl !== '')
    .map(({ dataUrl }) => ({ type: 'image_url', image_url: { url: dataUrl } }));
  const content = parts.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text', text }]), ...parts];
  if (toolCalls.length === 0) return { role, content };
  const calls = toolCalls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  return { role, content: text === '' ? null : content, tool_calls: calls };
}

/**
 * Roughly how many tokens a text has: a Korean, Chinese or Japanese character has some 0.8 of them,
 * four characters of other scripts have one. A fraction, so that parts add up. Only for figures that are
 * marked as estimates.
 */
export function estimateTokens(text: string): number {
  const dense =
    text.match(/[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7a3]/g)?.length ?? 0;
  return dense * 0.8 + (text.length - dense) / 4;
}

/** The tokens of messages, roughly; images are not counted. */
export function estimatePrompt(messages: readonly Message[]): number {
  const perMessage = 4;
  return messages.reduce((sum, { text, toolCalls }) => {
    const calls = toolCalls.reduce((tokens, { args }) => tokens + estimateTokens(args), 0);
    return sum + perMessage + Math.ceil(estimateTokens(text) + calls);
  }, 0);
}
