import type { LogFields } from '../../src/log/log.ts';
import type { Machine, Simulation } from './simulation.ts';

/** How long a settlement waits for the database when the journal rejects it. */
const settlementPatienceMs = 10_000;
/**
 * A journal whose disk works again has what it had rejected: it tries to create a segment each
 * second, and failed records are written again each second.
 */
const recordedWithinMs = 4_000;
const syncedWithinMs = 1_000;

/**
 * Notes what the gateways log and leave behind: what must not be, and what must have been at least
 * once.
 */
export class Witness {
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** A gateway logs. */
  onLog(event: string, fields: LogFields): void {
    const { journey, truth } = this.#simulation;
    switch (event) {
      case 'settlement_quarantined':
        truth.check(false, () => `a settlement was quarantined: ${String(fields['detail'])}`);
        return;
      case 'recovered':
        if (Number(fields['finals']) > 0) journey.met('a replay of the journal settled a row');
        if (Number(fields['orphans']) > 0)
          journey.met('an admitted request without an end was recorded as failed');
        return;
      case 'node_joined_again':
        journey.met('a node was considered lost and came back');
        return;
      case 'journal':
        if (fields['kind'] === 'torn') journey.met('the power failed and tore the journal');
        if (fields['kind'] === 'damaged') journey.met('the power failed and left a hole in the journal');
        return;
      case 'journal_failed':
        journey.met('a disk refused the journal');
    }
  }

  /** A gateway ends: what its clients received is in its journal, or will be free. */
  onEnd({ number, disk }: Machine, how: 'kill' | 'power' | 'stop'): void {
    const { views: all, truth, journey, timeline } = this.#simulation;
    const isDiskWell = timeline.nowMs - disk.failingUntilMs > recordedWithinMs;
    for (const view of all.values()) {
      if (view.gateway !== number) continue;
      const isSettled = truth.isOnRecord(view.id);
      const endedMs = view.endedMs ?? 0;
      const wasGivenUp = view.end === 'failed' && endedMs - view.sentMs >= settlementPatienceMs && !isSettled;
      if (wasGivenUp) journey.met('a process ended with a settlement that it had abandoned');
      // A power failure loses what was sent this moment.
      const isSynced = how !== 'power' || timeline.nowMs - endedMs > syncedWithinMs;
      if (wasGivenUp && !(isDiskWell && isSynced)) view.isUnrecorded = true;
      if (how === 'stop') continue;
      if (view.end === 'complete' && view.cost !== 0n && !isSettled)
        journey.met('a process died after a sync and before its commit');
      if (view.end === 'running' && view.wasStreamed && view.status === 200)
        journey.met('a stream was broken by its process');
    }
  }
}
