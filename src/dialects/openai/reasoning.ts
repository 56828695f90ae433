import type { Delta } from '../../wire/chat.ts';
import { isObject, type JsonObject } from '../../wire/json.ts';
import { detailOfText, hasMoreThanText, textOfDetails } from '../../wire/reasoning-details.ts';

/** The fields of an assistant message in which clients return reasoning. */
const returnedFields = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** How an upstream accepts the reasoning of earlier turns. */
export interface ReasoningRules {
  /** The reasoning text, in each of these fields. */
  readonly fields: readonly ('reasoning_content' | 'reasoning')[];
  /** `reasoning_details`: all of them, those with more than their text, or none. */
  readonly details: 'all' | 'beyond text' | 'none';
  /** Reasoning becomes a part of `content`, of the type `thinking`. */
  readonly asPart?: boolean;
  /**
   * Sent as the reasoning of a message with tool calls that has none, where the upstream requires
   * it.
   */
  readonly placeholder?: string;
}

/**
 * The reasoning of an upstream's message or delta: text always has an entry, and the entries' text
 * is the text.
 */
export function reasoningOf(stated: JsonObject): Pick<Delta, 'reasoning' | 'reasoning_details'> {
  const { reasoning_details: details, content } = stated;
  if (
    details == null &&
    stated['reasoning'] == null &&
    stated['reasoning_content'] == null &&
    !Array.isArray(content)
  )
    return {};
  const given = Array.isArray(details) ? (details as readonly unknown[]) : [];
  const inDetails = textOfDetails(given);
  const text = nonEmpty(stated['reasoning']) ?? nonEmpty(stated['reasoning_content']) ?? partsText(content);
  const all = text !== null && inDetails === '' ? [detailOfText(text), ...given] : given;
  const reasoning = text ?? nonEmpty(inDetails);
  return {
    ...(reasoning === null ? {} : { reasoning }),
    ...(all.length === 0 ? {} : { reasoning_details: all }),
  };
}

/**
 * Puts the reasoning of assistant messages into the fields that the upstream reads, whichever field
 * the client used.
 */
export function writeReasoning(
  messages: readonly JsonObject[],
  rules: ReasoningRules,
): readonly JsonObject[] {
  return messages.map((message) =>
    message['role'] === 'assistant' ? writeMessage(message, rules) : message,
  );
}

/** Whether an upstream gets less of the reasoning of earlier turns than the client sent. */
export function losesReasoning(messages: readonly JsonObject[], rules: ReasoningRules): boolean {
  const takesText = rules.fields.length > 0 || rules.asPart === true;
  return messages.some((message) => {
    if (message['role'] !== 'assistant') return false;
    const { reasoning, reasoning_content: content, reasoning_details: details } = message;
    const text = nonEmpty(content) ?? nonEmpty(reasoning) ?? nonEmpty(textOfDetails(details));
    return (text !== null && !takesText) || (rules.details === 'none' && hasMoreThanText(details));
  });
}

function writeMessage(message: JsonObject, rules: ReasoningRules): JsonObject {
  const { placeholder } = rules;
  const isReturned = returnedFields.some((name) => name in message);
  const needed = placeholder !== undefined && Array.isArray(message['tool_calls']);
  if (!isReturned && !needed) return message;
  const { reasoning, reasoning_content: content, reasoning_details: details, ...rest } = message;
  const text = nonEmpty(content) ?? nonEmpty(reasoning) ?? nonEmpty(textOfDetails(details));
  const empty = typeof content === 'string' || typeof reasoning === 'string' ? '' : null;
  const stated = text ?? (needed ? placeholder : empty);
  const written: Record<string, unknown> = rest;
  if (rules.asPart === true && text !== null)
    written['content'] = [thinkingPart(text), ...contentParts(rest['content'])];
  if (stated !== null) for (const field of rules.fields) written[field] = stated;
  const keeps = rules.details === 'all' || (rules.details === 'beyond text' && hasMoreThanText(details));
  if (keeps && Array.isArray(details)) written['reasoning_details'] = details;
  return written;
}

/** Reasoning in Mistral's form: a part of the content. */
function thinkingPart(text: string): JsonObject {
  return { type: 'thinking', thinking: [{ type: 'text', text }] };
}

function contentParts(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
}

/** The reasoning among the parts of a content; null when there is none. */
function partsText(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const texts = content.flatMap((part: unknown) => {
    const thinking = isObject(part) && part['type'] === 'thinking' ? part['thinking'] : [];
    if (typeof thinking === 'string') return [thinking];
    return Array.isArray(thinking)
      ? thinking.map((piece: unknown) => (isObject(piece) ? piece['text'] : ''))
      : [];
  });
  return nonEmpty(texts.filter((text) => typeof text === 'string').join(''));
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
