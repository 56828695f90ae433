/**
 * The most that one member of a completion's body may have (spec:errors/7.14,7.15): generous for real
 * agents, and a bound for whatever is walked for each item. The schemas state them, and the parser
 * enforces them.
 */
export const maxima = {
  /** UTF-16 units of one text: the default body. */
  text: 26_214_400,
  /** Of an id of a user, a session or a cache. */
  id: 4_096,
  /** Of the name of a model, a provider, a role or a type. */
  name: 500,
  messages: 10_000,
  /** Of one message. */
  parts: 10_000,
  toolCalls: 1_024,
  /** A stream delivers one for each piece of reasoning, and clients send back as many. */
  reasoningDetails: 20_000,
  annotations: 1_000,
  tools: 2_000,
  stops: 100,
  modalities: 16,
  /** Members of `logit_bias`, and of `metadata`. */
  logitBias: 10_000,
  metadata: 100,
  /** Fallback models. */
  models: 16,
  /** Names in a member of `provider`. */
  providers: 100,
  /** Prompts of one text completion, and token ids of each. */
  prompts: 2_048,
  tokens: 250_000,
} as const;

/** The members of a message that are lists, and their maxima. */
export const messageLists = [
  ['content', maxima.parts],
  ['tool_calls', maxima.toolCalls],
  ['reasoning_details', maxima.reasoningDetails],
  ['annotations', maxima.annotations],
  ['images', maxima.annotations],
] as const;
