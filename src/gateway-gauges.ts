import type { Books } from './books.ts';
import type { Gauge } from './http/metrics.ts';
import type { Served } from './http/serve.ts';
import type { Slots } from './slots/slots.ts';

/** What the metrics page shows of the moment. */
export function gauges(server: Served, { settlements, journal }: Books, slots: Slots): readonly Gauge[] {
  const stats = journal.stats();
  const all = slots.statuses();
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
    ...all.map((slot) => ({
      name: 'naru_slot_in_flight',
      help: 'Requests that an engine works on.',
      labels: { slot: slot.name },
      value: slot.inFlight,
    })),
    ...all.map((slot) => ({
      name: 'naru_slot_queued',
      help: 'Requests that wait for an engine.',
      labels: { slot: slot.name },
      value: slot.queued,
    })),
    ...all.map((slot) => ({
      name: 'naru_slot_starts',
      help: 'Starts of an engine, failed ones included.',
      labels: { slot: slot.name },
      value: slot.starts,
    })),
  ];
}
