import { isObject, memberIn, responseLimits, shapeFault } from '../wire/json.ts';
import { maxReasonLength } from './dialect.ts';

/**
 * Only longer texts are checked for a hostile shape before they are parsed; a short one is
 * harmless.
 */
const shortText = 4096;

/** An upstream's JSON; undefined when it is none, or its shape is hostile. */
export function parseUpstreamJson(text: string): unknown {
  if (text.length > shortText && shapeFault(text, responseLimits) !== null) return undefined;
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** An upstream's error message, or the start of the body when it has none. */
export function parseErrorMessage(body: string): string {
  return (messageIn(parseUpstreamJson(body)) ?? body).slice(0, maxReasonLength);
}

function messageIn(parsed: unknown): string | undefined {
  if (!isObject(parsed)) return undefined;
  const { error, message, Message, detail } = parsed;
  // Servers made with FastAPI have `detail`: a text, or a list of faults.
  const fault = Array.isArray(detail) ? memberIn(detail[0], 'msg') : detail;
  return [error, memberIn(error, 'message'), message, Message, fault].find(
    (text): text is string => typeof text === 'string',
  );
}
