import { bucketOf } from '../../generations/analytics/histogram.ts';
import type {
  GenerationEnd,
  GenerationObserver,
  RequestObserver,
  ResponseSource,
  SettlementObserver,
} from '../../metrics/observers.ts';
import type { Clock } from '../../time/clock.ts';
import { type LiveFigures, liveStepMs, liveSteps } from './live-figures.ts';

/** What happened in one step. */
class Step {
  readonly index: number;
  requests = 0;
  failures = 0;
  readonly errors = new Map<string, number>();
  readonly firstTokens = new Map<string, Histogram>();
  readonly lag = { count: 0, sumMs: 0, maxMs: 0 };

  constructor(index: number) {
    this.index = index;
  }
}

interface Histogram {
  readonly model: string;
  readonly provider: string;
  readonly counts: Map<number, number>;
}

/** What `LiveWindow` knows of the figures. */
export type WindowFigures = Pick<LiveFigures, 'steps' | 'errors' | 'firstTokens' | 'lag' | 'openStreams'>;

/**
 * The calls of the last minutes, for the console: a ring of steps, so that memory and the cost of a
 * call are constant. The page of metrics has counters since the start instead.
 */
export class LiveWindow implements RequestObserver, GenerationObserver, SettlementObserver {
  readonly #clock: Clock;
  readonly #ring: (Step | undefined)[] = new Array<Step | undefined>(liveSteps);
  #openStreams = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  requestEnded(route: string, status: number, _durationMs: number, errorType: string | null): void {
    if (!route.startsWith('/api/v1')) return;
    const step = this.#step();
    step.requests += 1;
    if (status < 400) return;
    step.failures += 1;
    add(step.errors, errorType ?? String(status), 1);
  }

  firstToken({ modelId: model, providerTag: provider }: ResponseSource, afterMs: number): void {
    this.#openStreams += 1;
    const { firstTokens } = this.#step();
    const key = `${model}\n${provider}`;
    let histogram = firstTokens.get(key);
    if (histogram === undefined) {
      histogram = { model, provider, counts: new Map() };
      firstTokens.set(key, histogram);
    }
    add(histogram.counts, bucketOf(afterMs), 1);
  }

  generationEnded({ wasStreaming, status, errorType }: GenerationEnd): void {
    if (wasStreaming) this.#openStreams -= 1;
    // The head of a stream was 200: its error came as an event.
    if (status >= 400 || errorType === null) return;
    const step = this.#step();
    step.failures += 1;
    add(step.errors, errorType, 1);
  }

  settlementCommitted(lagMs: number): void {
    const { lag } = this.#step();
    lag.count += 1;
    lag.sumMs += lagMs;
    lag.maxMs = Math.max(lag.maxMs, lagMs);
  }

  /** What the steps of the last minutes add up to. */
  read(): WindowFigures {
    const oldest = this.#index() - liveSteps;
    const steps = this.#ring
      .filter((step): step is Step => step !== undefined && step.index > oldest)
      .sort((a, b) => a.index - b.index);
    const errors = new Map<string, number>();
    const histograms = new Map<string, Histogram>();
    const lag = { count: 0, sumMs: 0, maxMs: 0 };
    for (const step of steps) {
      for (const [type, count] of step.errors) add(errors, type, count);
      for (const [key, { model, provider, counts }] of step.firstTokens) {
        const sum = histograms.get(key) ?? { model, provider, counts: new Map() };
        histograms.set(key, sum);
        for (const [bucket, count] of counts) add(sum.counts, bucket, count);
      }
      lag.count += step.lag.count;
      lag.sumMs += step.lag.sumMs;
      lag.maxMs = Math.max(lag.maxMs, step.lag.maxMs);
    }
    return {
      steps: steps.map(({ index, requests, failures }) => ({ at: index * liveStepMs, requests, failures })),
      errors: Object.fromEntries(errors),
      firstTokens: [...histograms.values()].map(({ counts, ...source }) => ({
        ...source,
        buckets: [...counts],
      })),
      lag,
      openStreams: this.#openStreams,
    };
  }

  #index(): number {
    return Math.floor(this.#clock.now() / liveStepMs);
  }

  #step(): Step {
    const index = this.#index();
    const known = this.#ring[index % liveSteps];
    if (known?.index === index) return known;
    const step = new Step(index);
    this.#ring[index % liveSteps] = step;
    return step;
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
