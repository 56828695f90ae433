import { z } from 'zod';
import type { Model } from '../catalogue/model.ts';
import type { Health } from '../upstreams/health.ts';
import { halfAnHourMs } from '../upstreams/health-status.ts';

type Measure = (model: Model, health: Health) => number | null;

/**
 * The orders of the listing (spec:compat/7.6): by a measure, the smallest first; null: no such
 * data, so the configured order.
 */
const orders = {
  newest: (model) => -model.created,
  'pricing-low-to-high': averagePrice,
  'pricing-high-to-low': (model) => -averagePrice(model),
  'context-high-to-low': (model) => -model.contextLength,
  'throughput-high-to-low': (model, health) =>
    lowest(model, (label) => negative(health.of(label).throughput(halfAnHourMs)?.p50)),
  'latency-low-to-high': (model, health) =>
    lowest(model, (label) => health.of(label).latency(halfAnHourMs)?.p50 ?? null),
  'most-popular': null,
  'top-weekly': null,
  'intelligence-high-to-low': null,
  'coding-high-to-low': null,
  'agentic-high-to-low': null,
  'design-arena-elo-high-to-low': null,
} as const satisfies Readonly<Record<string, Measure | null>>;

type SortOrder = keyof typeof orders;

/** The parameter `sort`. */
export const sortShape = z.enum(Object.keys(orders) as [SortOrder, ...SortOrder[]]).optional();

/**
 * Sorts models; without an order they are as configured. Unmeasured models come last, and equals in
 * the configured order.
 */
export function sortedBy(
  order: SortOrder | undefined,
  health: Health,
): (models: readonly Model[]) => readonly Model[] {
  const measure: Measure | null = order === undefined ? null : orders[order];
  if (measure === null) return (models) => models;
  return (models) =>
    models
      .map((model) => ({ model, value: measure(model, health) ?? Number.POSITIVE_INFINITY }))
      .toSorted((a, b) => (a.value === b.value ? 0 : a.value - b.value))
      .map(({ model }) => model);
}

/** Of prompt and completion, only for comparison. */
function averagePrice({ price }: Model): number {
  return Number(price.prompt + price.completion);
}

/** The best of a model's candidates; null when none was measured. */
function lowest(model: Model, measure: (label: string) => number | null): number | null {
  const values = model.candidates.map(({ label }) => measure(label)).filter((value) => value !== null);
  return values.length === 0 ? null : Math.min(...values);
}

function negative(value: number | undefined): number | null {
  return value === undefined ? null : -value;
}
