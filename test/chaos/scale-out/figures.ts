import { krwOfMicro, krwToDecimal } from '../../../src/money/krw.ts';
import { type Exports, type Goal, microOf } from '../audit.ts';
import type { Sight } from '../client.ts';
import { mustSucceed } from '../orders.ts';

/** What clients saw while one part was broken. */
export interface Figures {
  readonly part: string;
  /** Requests that were in flight, or sent, between the fault and the end of the step. */
  readonly requests: number;
  readonly failed: number;
  /** From the fault to the end of the last failed request; null without one. */
  readonly lastFailureMs: number | null;
  /** The longest request that succeeded. */
  readonly slowestMs: number;
  /** From the fault or from the return of the part, as `backFrom` states, to full service. */
  readonly backMs: number;
  readonly backFrom: string;
}

/** A request that had no reason of its own to fail, and did not succeed. */
export function hasFailed(sight: Sight): boolean {
  return mustSucceed(sight.order) && sight.kind !== 'success';
}

/**
 * What clients know: an error of nginx itself, whose request ids are not Naru's, does not state
 * whether a node has run the request.
 */
export function behindProxy(sight: Sight): Sight {
  const isOfProxy = sight.kind === 'refused' && sight.requestId?.startsWith('req_') !== true;
  return isOfProxy ? { ...sight, kind: 'unseen' } : sight;
}

/** The requests of a step; times are monotonic. */
export function figuresOf(
  sights: readonly Sight[],
  step: Pick<Figures, 'part' | 'backMs' | 'backFrom'> & { readonly faultMs: number; readonly endMs: number },
): Figures {
  const { part, backMs, backFrom, faultMs, endMs } = step;
  const own = sights.filter(({ beganMs, endedMs }) => endedMs >= faultMs && beganMs < endMs);
  const failed = own.filter(hasFailed);
  const succeeded = own.filter(({ kind }) => kind === 'success');
  return {
    part,
    requests: own.length,
    failed: failed.length,
    lastFailureMs: failed.length === 0 ? null : Math.max(...failed.map(({ endedMs }) => endedMs)) - faultMs,
    slowestMs: Math.max(0, ...succeeded.map(({ beganMs, endedMs }) => endedMs - beganMs)),
    backMs,
    backFrom,
  };
}

/** One row of the table of docs/reliability.md. */
export function rowOf(figures: Figures): string {
  const { part, requests, failed, lastFailureMs, slowestMs, backMs, backFrom } = figures;
  const cells = [
    part,
    requests.toLocaleString('en'),
    String(failed),
    lastFailureMs === null ? '–' : seconds(lastFailureMs),
    seconds(slowestMs),
    `${seconds(backMs)} after ${backFrom}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** What responses reported as their cost, against what the ledger charges for those responses. */
export function moneyLost(sights: readonly Sight[], { entries }: Exports): Goal {
  const charged = new Map<string, bigint>();
  for (const entry of entries) {
    if (entry.kind !== 'usage') continue;
    const id = String(entry.generation_id);
    charged.set(id, (charged.get(id) ?? 0n) - microOf(entry.amount_krw));
  }
  const seen = sights.filter(({ kind }) => kind === 'success');
  const reported = seen.reduce((sum, { costMicro }) => sum + (costMicro ?? 0n), 0n);
  const billed = seen.reduce((sum, { generationId }) => sum + (charged.get(generationId ?? '') ?? 0n), 0n);
  const all = [...charged.values()].reduce((sum, amount) => sum + amount, 0n);
  const won = (micro: bigint): string => krwToDecimal(krwOfMicro(micro));
  return {
    goal: 'no money is lost',
    counts: `${seen.length} responses reported a cost of ${won(reported)} won, the ledger charges ${won(billed)} for them and ${won(all - billed)} for responses whose end was not seen`,
    faults: reported === billed ? [] : [`${won(reported - billed)} won`],
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
