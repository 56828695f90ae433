import type { Served } from '../http/serve.ts';
import type { AlarmWatch } from '../operations/alarms.ts';
import type { LiveFigures } from '../pages/console/live-figures.ts';
import { labelsOf, reportHealth } from '../routing/health-report.ts';
import { halfAnHourMs } from '../upstreams/health-status.ts';
import type { GatewayCore } from './gateway-core.ts';

/** All candidates are reported while they are so few; of more, those that matter now. */
const fewCandidates = 50;
/** The most candidates in the figures. */
const maxCandidates = 300;

/** What the console shows of this process at the moment. */
export function liveFigures(
  { window, accounting, liveCatalog, health, drains }: GatewayCore,
  server: Pick<Served, 'inFlight'>,
  alarms: Pick<AlarmWatch, 'current'>,
): LiveFigures {
  const { settlements, journal, queues } = accounting;
  const { catalogue } = liveCatalog;
  const { quarantined, lostNodes } = alarms.current;
  const candidateCount = labelsOf(catalogue).size;
  let shown = 0;
  const matters = (label: string, isDrained: boolean): boolean => {
    if (shown >= maxCandidates) return false;
    const { circuit, coolingMs } = health.statusOf(label);
    const isUsed = health.of(label).attempts(halfAnHourMs) > 0;
    const isOdd = isDrained || circuit !== 'closed' || coolingMs > 0;
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
