import type { Family } from '../../http/exposition.ts';
import type { Gauge } from '../../http/metrics.ts';
import type { Served } from '../../http/serve.ts';
import type { MemoryBudget } from '../../memory/budget.ts';
import type { ClockSkew } from '../../nodes/clock-skew.ts';
import type { Accounting } from '../accounting.ts';
import type { Alarms } from '../alarms.ts';

/** What the metrics page shows of the moment, beside the slots (`app/metrics/slot-metrics.ts`). */
export function gauges(
  server: Served,
  { accounts, keys, lines, settlements, journal }: Accounting,
  alarms: Alarms,
  skew: ClockSkew,
): readonly Gauge[] {
  const stats = journal.stats();
  return [
    {
      name: 'naru_requests_in_flight',
      help: 'Requests whose response is not complete.',
      value: server.inFlight(),
    },
    {
      name: 'naru_requests_waiting_for_credit',
      help: 'Requests that wait in line until earlier requests of their account or key have settled.',
      value: lines.waiting,
    },
    {
      name: 'naru_settlement_backlog',
      help: 'Settlements that are durable and not yet in the database.',
      value: settlements.backlog,
    },
    {
      name: 'naru_known_accounts',
      help: 'Accounts in memory. Those that are not used are forgotten where there are many.',
      value: accounts.size,
    },
    { name: 'naru_known_keys', help: 'Keys in memory, likewise.', value: keys.size },
    {
      name: 'naru_clock_ahead_seconds',
      help: 'How far the clock of this node is ahead of that of the database; below 0: behind.',
      value: skew.aheadMs / 1000,
    },
    { name: 'naru_journal_bytes', help: 'Bytes of journal segments.', value: stats.bytes },
    {
      name: 'naru_journal_kept_bytes',
      help: 'Of those that are settled and kept until the standbys of the database have what they hold.',
      value: stats.keptBytes,
    },
    {
      name: 'naru_quarantined_settlements',
      help: 'Settlements that the database refuses, of all nodes: see naru ledger quarantine.',
      value: alarms.quarantined + settlements.unstored,
    },
    {
      name: 'naru_lost_nodes',
      help: 'Nodes that did not stop in order and whose journals may hold charges, of all nodes: see naru node list.',
      value: alarms.lostNodes,
    },
    {
      name: 'naru_journal_foreign_segments',
      help: 'Segments that were set aside since they belong to another database or node: see naru node recover.',
      value: stats.foreign,
    },
    { name: 'naru_journal_syncs', help: 'Group syncs of the journal.', value: stats.syncs },
  ];
}

/** What requests hold of the memory of this process, and what was shed for lack of it. */
export function budgetFamilies(budget: MemoryBudget): readonly Family[] {
  const kinds = ['body', 'answer', 'unsent'] as const;
  return [
    {
      name: 'naru_held_bytes',
      help: 'Memory that requests hold: bodies, whole answers of upstreams, and what clients have not taken yet.',
      type: 'gauge',
      samples: kinds.map((kind) => ({ labels: { kind }, value: budget.heldAs(kind) })),
    },
    {
      name: 'naru_held_bytes_limit',
      help: 'The most that requests may hold together.',
      type: 'gauge',
      samples: [{ labels: {}, value: budget.totalBytes }],
    },
    {
      name: 'naru_shed_requests_total',
      help: 'Requests that were ended for lack of memory.',
      type: 'counter',
      samples: [{ labels: {}, value: budget.shedCount }],
    },
  ];
}
