import type { Served } from '../http/serve.ts';
import type { RequestPhase, Session } from '../inference/session.ts';
import type { LiveFigures } from '../pages/console/live-figures.ts';
import { type OpenRequest, type OpenWork, requestPhases } from '../pages/console/open-work-body.ts';
import { labelsOf, reportHealth } from '../routing/health-report.ts';
import { halfAnHourMs } from '../upstreams/health-status.ts';
import type { GatewayCore } from './gateway-core.ts';

/** All candidates are reported while they are so few; of more, those that matter now. */
const fewCandidates = 50;
/** The most candidates in the figures. */
const maxCandidates = 300;

/** What the console shows of this process at the moment. */
export function liveFigures(
  { window, accounting, liveCatalog, health, drains, alarms }: GatewayCore,
  server: Served,
): LiveFigures {
  const { settlements, journal, queues } = accounting;
  const { catalogue } = liveCatalog;
  const { quarantined, lostNodes } = alarms.current;
  const candidateCount = labelsOf(catalogue).size;
  let shown = 0;
  const matters = (label: string, isDrained: boolean): boolean => {
    if (shown >= maxCandidates) return false;
    const { circuit, coolingMs, failures } = health.statusOf(label);
    const isUsed = health.of(label).attempts(halfAnHourMs) > 0;
    const isOdd = isDrained || circuit !== 'closed' || coolingMs > 0 || failures > 0;
    if (candidateCount > fewCandidates && !isUsed && !isOdd) return false;
    shown += 1;
    return true;
  };
  return {
    ...window.read(),
    openRequests: server.inFlight(),
    waitingForCredit: queues.waiting,
    journalBytes: journal.stats().bytes,
    backlog: settlements.backlog,
    quarantined: quarantined + settlements.unstored,
    lostNodes,
    candidates: reportHealth({ catalogue, health, drains }, matters),
    candidateCount,
  };
}

/** The most rows of one kind from one process: the oldest. */
const maxRows = 100;

/** What this process has in hand at the moment, for the console. */
export function openWork({ openSessions, accounting }: GatewayCore): OpenWork {
  const { settlements } = accounting;
  const counts = Object.fromEntries(requestPhases.map((phase) => [phase, 0])) as Record<RequestPhase, number>;
  const requests: OpenRequest[] = [];
  for (const session of openSessions) {
    const { phase } = session;
    counts[phase] += 1;
    if (counts[phase] <= maxRows) requests.push(rowOf(session, phase));
  }
  return {
    counts,
    requests,
    backlog: settlements.backlog,
    unsettled: [...settlements.unsettled().take(maxRows)].map(
      ({ uuid, accountId, model, cost, settledAtMs }) => ({
        uuid,
        accountId,
        model,
        cost: String(cost),
        settledAtMs,
      }),
    ),
  };
}

function rowOf(
  { id, accountId, createdAtMs, request, candidate }: Session,
  phase: RequestPhase,
): OpenRequest {
  return {
    id,
    accountId,
    phase,
    startedAtMs: createdAtMs,
    model: candidate?.modelId ?? request?.models[0] ?? null,
    candidate: candidate?.label ?? null,
    isStream: request?.stream ?? null,
  };
}
