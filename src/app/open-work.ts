import type { RequestPhase, Session } from '../inference/session.ts';
import { type OpenRequest, type OpenWork, requestPhases } from '../pages/console/open-work-body.ts';
import type { GatewayCore } from './gateway-core.ts';

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
