import { type DecodedEvent, maxReasonLength } from '../dialect.ts';
import type { ProviderQuirks } from './provider-quirks.ts';

/**
 * An error that a package found in a response, or raised while reading it. Never quotes the
 * response: the reason goes to the log.
 */
export function errorEventOf(error: unknown): DecodedEvent {
  const { name, statusCode, message } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError')
    return { kind: 'malformed', reason: 'an event in an unknown format' };
  const isStatus = Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) < 600;
  const reason =
    typeof message === 'string' ? message.slice(0, maxReasonLength) : 'an error without a message';
  return { kind: 'error', status: isStatus ? Number(statusCode) : null, reason };
}

/** Whether an event of a stream should be skipped, because its type is newer than the package. */
export function isNews(error: unknown, { eventTypes: known }: ProviderQuirks): boolean {
  const { name, value } = (error ?? {}) as Readonly<Record<string, unknown>>;
  const { type } = (value ?? {}) as { readonly type?: unknown };
  return known !== null && name === 'AI_TypeValidationError' && typeof type === 'string' && !known.has(type);
}
