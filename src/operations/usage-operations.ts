import type { HourSpan } from '../generations/analytics/facts-sql.ts';
import { type RebuiltSpan, UsageRoller } from '../generations/analytics/roll-usage.ts';
import { recordAfter } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

const hourMs = 3_600_000;

/** Rebuilds the hourly sums of usage. */
export function usageOperations(context: OperationsContext) {
  return {
    /** Computes the hours of a period again, or all; yields each part when it is committed. */
    rebuildUsage: (period: Partial<HourSpan>): AsyncIterable<RebuiltSpan> => rebuildUsage(context, period),
  };
}

async function* rebuildUsage(
  context: OperationsContext,
  period: Partial<HourSpan>,
): AsyncGenerator<RebuiltSpan> {
  const { database, clock } = context;
  let hours = 0;
  for await (const span of new UsageRoller({ database, clock }).rebuild(period)) {
    hours += (span.toMs - span.fromMs) / hourMs;
    yield span;
  }
  await recordAfter(context, { act: 'usage.rebuild', after: { hours } });
}
