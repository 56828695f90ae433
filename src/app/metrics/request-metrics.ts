import type {
  GenerationEnd,
  GenerationObserver,
  RequestObserver,
  ResponseSource,
  SettlementObserver,
} from '../../metrics/observers.ts';
import { BoundedLabels } from './bounded-labels.ts';
import { Counter, Histogram, type Labels, type Registry } from './registry.ts';

/** Label values of a generation that no candidate responded to. */
const none: ResponseSource = { modelId: 'none', providerTag: 'none' };

/** Model and provider: each is some 60 lines of the page. */
export const maxSources = 100;
/** Model, provider and status: each is 18 lines. */
export const maxSourcesByStatus = 200;
/** Route and status: the routes are some 40, and each returns a handful of statuses. */
const maxRoutes = 300;

const durationBoundsSec = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const firstTokenBoundsSec = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576];
const costBoundsWon = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 50, 100, 500, 1000, 10000];
const lagBoundsSec = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts requests, generations and settlements for the metrics page. */
export class RequestMetrics implements RequestObserver, GenerationObserver, SettlementObserver {
  readonly #routes = new BoundedLabels(['route', 'status'], maxRoutes);
  readonly #sources = new BoundedLabels(['model', 'provider'], maxSources);
  readonly #byStatus = new BoundedLabels(['model', 'provider', 'status'], maxSourcesByStatus);
  readonly #requests: Counter;
  readonly #requestSec: Histogram;
  readonly #generationSec: Histogram;
  readonly #firstTokenSec: Histogram;
  readonly #promptTokens: Histogram;
  readonly #completionTokens: Histogram;
  readonly #cost: Histogram;
  readonly #lagSec: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    const route = ['route', 'status'];
    const source = ['model', 'provider'];
    this.#requests = new Counter({
      name: 'naru_requests_total',
      help: 'Completed HTTP requests.',
      labelNames: route,
      registers,
    });
    const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram =>
      new Histogram({ name, help, buckets, labelNames, registers });
    this.#requestSec = histogram(
      'naru_request_duration_seconds',
      'From the head of an HTTP request to the end of its response.',
      durationBoundsSec,
      route,
    );
    this.#generationSec = histogram(
      'naru_generation_duration_seconds',
      'From the arrival of an inference request to its durable settlement, by recorded status.',
      durationBoundsSec,
      [...source, 'status'],
    );
    this.#firstTokenSec = histogram(
      'naru_time_to_first_token_seconds',
      'From the arrival of a streamed inference request to the first content of its response.',
      firstTokenBoundsSec,
      source,
    );
    this.#promptTokens = histogram(
      'naru_prompt_tokens',
      'Prompt tokens of a generation.',
      tokenBounds,
      source,
    );
    this.#completionTokens = histogram(
      'naru_completion_tokens',
      'Completion tokens of a generation.',
      tokenBounds,
      source,
    );
    this.#cost = histogram('naru_cost_won', 'Cost of a generation, in won.', costBoundsWon, source);
    this.#lagSec = histogram(
      'naru_settlement_lag_seconds',
      'From a settlement in the journal to its commit in the database.',
      lagBoundsSec,
    );
  }

  requestEnded(route: string, status: number, durationMs: number): void {
    const labels = this.#routes.of(route, String(status));
    this.#requests.inc(labels);
    this.#requestSec.observe(labels, durationMs / 1000);
  }

  firstToken({ modelId, providerTag }: ResponseSource, afterMs: number): void {
    this.#firstTokenSec.observe(this.#sources.of(modelId, providerTag), afterMs / 1000);
  }

  generationEnded(end: GenerationEnd): void {
    const { modelId, providerTag } = end.source ?? none;
    this.#generationSec.observe(
      this.#byStatus.of(modelId, providerTag, String(end.status)),
      end.durationMs / 1000,
    );
    if (end.source === null) return;
    const labels = this.#sources.of(modelId, providerTag);
    this.#promptTokens.observe(labels, end.promptTokens);
    this.#completionTokens.observe(labels, end.completionTokens);
    // A float will do for a graph; the ledger has the exact sum.
    this.#cost.observe(labels, Number(end.cost) / 1e6);
  }

  settlementCommitted(lagMs: number): void {
    this.#lagSec.observe(lagMs / 1000);
  }

  /**
   * After a reload: models that the catalogue lacks lose their series, and make room for others.
   */
  keepOnly(models: ReadonlySet<string>): void {
    const isKept = ({ model }: { readonly model: string }): boolean =>
      model === none.modelId || models.has(model);
    for (const labels of this.#sources.keepOnly(isKept))
      for (const each of [this.#firstTokenSec, this.#promptTokens, this.#completionTokens, this.#cost])
        each.remove(mutable(labels));
    for (const labels of this.#byStatus.keepOnly(isKept)) this.#generationSec.remove(mutable(labels));
  }
}

function mutable(labels: Labels): Record<string, string> {
  return { ...labels };
}
