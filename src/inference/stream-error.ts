import { type Refusal, refuse } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';

/** A time limit that ended a call. */
export interface ExpiredLimit {
  /**
   * To the first byte of one response; of the whole request to the first byte of any; between two
   * pieces; of the whole request to the last byte.
   */
  readonly kind: 'first_byte' | 'budget' | 'idle' | 'total';
  readonly limitMs: number;
}

/**
 * The upstream failed after the head of its response: it closed the connection, stalled, or sent an
 * error or malformed data.
 */
export class UpstreamStreamError extends Error {
  override readonly name = 'UpstreamStreamError';
  /** The status in its error; null when there was none. */
  readonly status: number | null;
  /** The limit that ended the call; null when none did. */
  readonly expired: ExpiredLimit | null;

  constructor(
    message: string,
    how: { readonly status?: number | null; readonly expired?: ExpiredLimit } = {},
  ) {
    super(message);
    this.status = how.status ?? null;
    this.expired = how.expired ?? null;
  }
}

/** The error of an upstream that sent nothing for this long. */
export function idleTimeoutError(limitMs: number): UpstreamStreamError {
  return new UpstreamStreamError('the upstream sent nothing for too long', {
    expired: { kind: 'idle', limitMs },
  });
}

/** The refusal of a request that a limit ended (spec:errors/3.7): `timeout_sec` is that limit. */
export function timeoutOf({ kind, limitMs }: ExpiredLimit): Refusal {
  return refuse('timeout', timeoutMessages[kind](), { timeout_sec: limitMs / 1000 });
}

const timeoutMessages: Readonly<Record<ExpiredLimit['kind'], () => Message>> = {
  first_byte: messages.upstreamTooSlow,
  budget: messages.upstreamTooSlow,
  idle: messages.upstreamIdle,
  total: messages.responseTooSlow,
};
