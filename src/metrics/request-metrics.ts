import { BoundedLabels } from './bounded-labels.ts';
import type {
  GenerationEnd,
  GenerationObserver,
  RequestObserver,
  ResponseSource,
  SettlementObserver,
} from './observers.ts';
import { PlainHistogram } from './plain-histogram.ts';
import { addCounter, type Registry } from './registry.ts';

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
  readonly #requestSec: PlainHistogram;
  readonly #generationSec: PlainHistogram;
  readonly #firstTokenSec: PlainHistogram;
  readonly #promptTokens: PlainHistogram;
  readonly #completionTokens: PlainHistogram;
  readonly #cost: PlainHistogram;
  readonly #lagSec: PlainHistogram;
  /** By the labels of `#sources`, each of which is one object. */
  readonly #unknownFinishes = new Map<Readonly<Record<string, string>>, number>();

  constructor(registry: Registry) {
    const route = ['route', 'status'];
    const source = ['model', 'provider'];
    const requests = { name: 'naru_requests_total', help: 'Completed HTTP requests.', labelNames: route };
    addCounter(registry, requests, () => this.#requestSec.counts());
    const histogram = (
      name: string,
      help: string,
      bounds: readonly number[],
      labelNames?: readonly string[],
    ): PlainHistogram =>
      new PlainHistogram({ name, help, bounds, ...(labelNames && { labelNames }) }, registry);
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
    const unknown = {
      name: 'naru_unknown_finish_reasons_total',
      help: 'Generations that the upstream ended with a finish reason that Naru does not know.',
      labelNames: source,
    };
    addCounter(registry, unknown, () =>
      [...this.#unknownFinishes].map(([labels, value]) => ({ labels, value })),
    );
  }

  requestEnded(route: string, status: number, durationMs: number): void {
    const labels = this.#routes.of(route, String(status));
    this.#requestSec.observe(durationMs / 1000, labels);
  }

  firstToken({ modelId, providerTag }: ResponseSource, afterMs: number): void {
    this.#firstTokenSec.observe(afterMs / 1000, this.#sources.of(modelId, providerTag));
  }

  generationEnded(end: GenerationEnd): void {
    const { modelId, providerTag } = end.source ?? none;
    this.#generationSec.observe(
      end.durationMs / 1000,
      this.#byStatus.of(modelId, providerTag, String(end.status)),
    );
    if (end.source === null) return;
    const labels = this.#sources.of(modelId, providerTag);
    this.#promptTokens.observe(end.promptTokens, labels);
    this.#completionTokens.observe(end.completionTokens, labels);
    // A float will do for a graph; the ledger has the exact sum.
    this.#cost.observe(Number(end.cost) / 1e6, labels);
    if (end.hasUnknownFinish) this.#unknownFinishes.set(labels, (this.#unknownFinishes.get(labels) ?? 0) + 1);
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
    for (const labels of this.#sources.keepOnly(isKept)) {
      for (const each of [this.#firstTokenSec, this.#promptTokens, this.#completionTokens, this.#cost])
        each.remove(labels);
      this.#unknownFinishes.delete(labels);
    }
    for (const labels of this.#byStatus.keepOnly(isKept)) this.#generationSec.remove(labels);
  }
}
