import { addCounter, type Registry } from '../../metrics/registry.ts';
import type { SpanCounts } from './tracer.ts';

/** Registers what became of the spans of calls. */
export function addTraceMetrics(registry: Registry, { counts }: { readonly counts: SpanCounts }): void {
  addCounter(
    registry,
    {
      name: 'naru_trace_spans_total',
      help: 'Spans of calls: made, exported to the collector, or failed; the others wait or were dropped.',
      labelNames: ['result'],
    },
    () => [
      { labels: { result: 'made' }, value: counts.made },
      { labels: { result: 'exported' }, value: counts.exported },
      { labels: { result: 'failed' }, value: counts.failed },
    ],
  );
}
