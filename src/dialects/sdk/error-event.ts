import { type DecodedEvent, maxReasonLength } from '../dialect.ts';
import type { ProviderQuirks } from './provider-quirks.ts';

/** An error that a package found in an answer, or met while reading it. Never quotes the answer: the reason goes to the log. */
export function errorEventOf(error: unknown): DecodedEvent {
  const { name, statusCode, message } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError')
    return { kind: 'malformed', reason: 'an event that is none of its format' };
  const isStatus = Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) < 600;
  const reason = typeof message === 'string' ? message.slice(0, maxReasonLength) : 'an error without words';
  return { kind: 'error', status: isStatus ? Number(statusCode) : null, reason };
}

/** Whether the maker of a stream asks to pass over this event, since it is of a kind that came after the package. */
export function isNews(error: unknown, { eventTypes: known }: ProviderQuirks): boolean {
  const { name, value } = (error ?? {}) as Readonly<Record<string, unknown>>;
  const { type } = (value ?? {}) as { readonly type?: unknown };
  return known !== null && name === 'AI_TypeValidationError' && typeof type === 'string' && !known.has(type);
}
