/**
 * What rooms report for the metrics page, without knowing how it is counted
 * (docs/decisions/metrics.md). Observers are called on the path of a request: they must not throw,
 * nor take long.
 */
export interface RequestObserver {
  /**
   * Once for each HTTP request, when it has ended. `route` is the path of its row, or `none`;
   * `errorType` is that of its response, if that is an error.
   */
  requestEnded(route: string, status: number, durationMs: number, errorType: string | null): void;
}

/** Where a response came from. Both names are of the catalogue, never of a client. */
export interface ResponseSource {
  readonly modelId: string;
  readonly providerTag: string;
}

/** How a generation ended. */
export interface GenerationEnd {
  /** Null: no candidate responded. */
  readonly source: ResponseSource | null;
  /** As recorded: 200 also for a stream that ended with an error event. */
  readonly status: number;
  /** Also of an error within a stream. */
  readonly errorType: string | null;
  /** `firstToken` was called for it. */
  readonly wasStreaming: boolean;
  readonly durationMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Micro-won. */
  readonly cost: bigint;
  /** Whether the upstream gave a finish reason that no table has. */
  readonly hasUnknownFinish: boolean;
}

/** Observes generations. */
export interface GenerationObserver {
  /** Once for each streamed response, `afterMs` after its request arrived. */
  firstToken(source: ResponseSource, afterMs: number): void;
  /** Once for each generation, when its settlement is durable or has failed. */
  generationEnded(end: GenerationEnd): void;
}

/** Observes settlements. */
export interface SettlementObserver {
  /** Once for each settlement that the database committed, `lagMs` after it was queued. */
  settlementCommitted(lagMs: number): void;
}

/** Observes everything that a gateway reports. */
export type GatewayObserver = RequestObserver & GenerationObserver & SettlementObserver;

/** Reports to one observer, then to the other. */
export function bothObservers(one: GatewayObserver, other: GatewayObserver): GatewayObserver {
  return {
    requestEnded(...request) {
      one.requestEnded(...request);
      other.requestEnded(...request);
    },
    firstToken(...first) {
      one.firstToken(...first);
      other.firstToken(...first);
    },
    generationEnded(end) {
      one.generationEnded(end);
      other.generationEnded(end);
    },
    settlementCommitted(lagMs) {
      one.settlementCommitted(lagMs);
      other.settlementCommitted(lagMs);
    },
  };
}
