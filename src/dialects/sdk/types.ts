import type { AnthropicProvider } from '@ai-sdk/anthropic';

/*
 * The common types of the provider packages (their `LanguageModelV4`), by our names. Types only:
 * nothing is loaded.
 */

/** One model of a package's provider. */
export type LanguageModel = ReturnType<AnthropicProvider['languageModel']>;
/** A request in the packages' format. */
export type CallOptions = Parameters<LanguageModel['doStream']>[0];
export type Prompt = CallOptions['prompt'];
export type Message = Prompt[number];
export type UserPart = Extract<Message, { role: 'user' }>['content'][number];
export type AssistantPart = Extract<Message, { role: 'assistant' }>['content'][number];
export type ToolResultPart = Extract<
  Extract<Message, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>;
export type FilePart = Extract<UserPart, { type: 'file' }>;
export type ToolOutputPart = Extract<ToolResultPart['output'], { type: 'content' }>['value'][number];
/** Options that only one package understands, by its name. */
export type ProviderOptions = NonNullable<CallOptions['providerOptions']>;
export type WholeResult = Awaited<ReturnType<LanguageModel['doGenerate']>>;
/** What a package left out of a request, or changed. */
export type SdkWarning = WholeResult['warnings'][number];
export type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
export type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
export type Finish = WholeResult['finishReason'];
export type UsageReport = WholeResult['usage'];
