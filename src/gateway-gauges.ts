import type { Books } from './books.ts';
import type { Gauge } from './http/metrics.ts';
import type { Served } from './http/serve.ts';

/** What the metrics page shows of the moment, beside the slots (`slot-metrics.ts`). */
export function gauges(server: Served, { settlements, journal }: Books): readonly Gauge[] {
  const stats = journal.stats();
  return [
    {
      name: 'naru_requests_in_flight',
      help: 'Requests whose response is not complete.',
      value: server.inFlight(),
    },
    {
      name: 'naru_settlement_backlog',
      help: 'Settlements that are durable and not yet in the database.',
      value: settlements.backlog,
    },
    { name: 'naru_journal_bytes', help: 'Bytes of journal segments.', value: stats.bytes },
    { name: 'naru_journal_syncs', help: 'Group syncs of the journal.', value: stats.syncs },
  ];
}
