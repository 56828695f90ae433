import type { Clock } from '../time/clock.ts';
import { subjectName } from './lease-table.ts';
import type { SpendSubject } from './reservation-request.ts';

/**
 * A node that waits for credit repeats its release request more often than this; an older one has
 * ended.
 */
const validForMs = 1_000;

type SubjectKey = Pick<SpendSubject, 'kind' | 'id'>;

/** Another node waits for credit. */
interface ReleaseRequest {
  /** The end of its validity. */
  readonly untilMs: number;
  /** Whether a request that ended has released credit for it. */
  isReleased: boolean;
}

/** The subjects of which other nodes wait for credit. */
export class ReleaseRequests {
  readonly #clock: Clock;
  readonly #requests = new Map<string, ReleaseRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0;
  }

  add({ kind, id }: SubjectKey): void {
    const nowMs = this.#clock.monotonic();
    for (const [name, { untilMs }] of this.#requests) if (untilMs <= nowMs) this.#requests.delete(name);
    this.#requests.set(subjectName(kind, id), { untilMs: nowMs + validForMs, isReleased: false });
  }

  /** Whether another node waits for credit of the subject. */
  has({ kind, id }: SubjectKey): boolean {
    const request = this.#requests.get(subjectName(kind, id));
    return request !== undefined && request.untilMs > this.#clock.monotonic();
  }

  /** Marks the request for a subject as served; false when there is none to serve. */
  take(subject: SubjectKey): boolean {
    const request = this.#requests.get(subjectName(subject.kind, subject.id));
    if (request === undefined || request.isReleased) return false;
    if (this.has(subject)) {
      request.isReleased = true;
      return true;
    }
    this.#requests.delete(subjectName(subject.kind, subject.id));
    return false;
  }
}
