import type { GenerationObserver, RequestObserver, SettlementObserver } from '../metrics/observers.ts';

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
