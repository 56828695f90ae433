import { Refusal, refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal, renderPageRefusal } from '../errors/page-refusal.ts';
import { BodyTooLarge } from '../http/read-body.ts';
import type { ResponseStyle } from '../http/response-style.ts';
import { describeError, type Log } from '../log/log.ts';
import { isConnectionLoss } from '../store/connection.ts';
import type { JsonReply } from '../wire/reply.ts';

/**
 * What a page may load, do and be embedded in: its own files and its own server, and nothing
 * inline.
 */
const policy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const securityHeaders = [
  ...['Content-Security-Policy', policy],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  // A sign-in link must not leak to another site.
  ...['Referrer-Policy', 'same-origin'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
];

/** Headers and errors of every response under `/dashboard` and `/console`. */
export function pageStyle(log: Log): ResponseStyle {
  return {
    headers: (requestId) => [...securityHeaders, 'X-Request-Id', requestId],
    renderError: (thrown, requestId) => renderPageError(thrown, log, requestId),
  };
}

function renderPageError(
  thrown: unknown,
  log: Log,
  requestId: string,
): JsonReply & { readonly type: string } {
  const refusal = refusalOf(thrown, log, requestId);
  return { ...renderPageRefusal(refusal), type: refusal.failure };
}

function refusalOf(thrown: unknown, log: Log, requestId: string): Refusal | PageRefusal {
  if (thrown instanceof Refusal || thrown instanceof PageRefusal) return thrown;
  if (thrown instanceof BodyTooLarge) return new PageRefusal('too_large', pageMessages.tooLarge);
  log.error(isConnectionLoss(thrown) ? 'page_read_failed' : 'internal_error', {
    request_id: requestId,
    detail: describeError(thrown),
  });
  if (thrown instanceof OutcomeUnknown)
    return new PageRefusal('outcome_unknown', pageMessages.outcomeUnknown, { retryAfterSec: 5 });
  return isConnectionLoss(thrown)
    ? new PageRefusal('reading_too_slow', pageMessages.readingTooSlow, { retryAfterSec: 5 })
    : refuse('server', messages.internalError());
}
