import { type Refusal, refuse } from '../errors/catalogue.ts';

/** A time limit that ended a call. */
export interface ExpiredLimit {
  /** To the first byte of one response, of the request to any, between two pieces, of the request to the last byte. */
  readonly kind: 'first_byte' | 'budget' | 'idle' | 'total';
  readonly limitMs: number;
}

/** An upstream that had begun to answer stopped being one: it broke off, fell silent, said an error or nonsense. */
export class UpstreamStreamError extends Error {
  override readonly name = 'UpstreamStreamError';
  /** The status that it named for it; null when there was none. */
  readonly status: number | null;
  /** The limit that ended it; null when none did. */
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

/** An upstream that sent nothing for so long. */
export function idleTimeoutError(limitMs: number): UpstreamStreamError {
  return new UpstreamStreamError('the upstream fell silent', { expired: { kind: 'idle', limitMs } });
}

/** The refusal of a request that a limit ended (spec:errors/3.7): `timeout_sec` is that limit. */
export function timeoutOf({ kind, limitMs }: ExpiredLimit): Refusal {
  return refuse('timeout', timeoutMessages[kind], { timeout_sec: limitMs / 1000 });
}

const late = '업스트림이 제한 시간 안에 응답하지 않았습니다. The upstream did not answer in time.';
const timeoutMessages: Readonly<Record<ExpiredLimit['kind'], string>> = {
  first_byte: late,
  budget: late,
  idle: '업스트림이 응답을 멈췄습니다. The upstream fell silent.',
  total: '답변이 전체 제한 시간 안에 끝나지 않았습니다. The answer did not end within the total time limit.',
};
