import { createHash } from 'node:crypto';
import { type Day, weekStart } from './days.ts';
import type { ModelRow } from './models-sql.ts';

const models = ['hangang-1', 'namsan-mini', 'seorak-70b', 'jeju-code', 'gyeongpo-vision', 'dadohae-3'];

/**
 * Sample tokens of sample models, `sample/…`, and of `other`: the same at every call
 * (spec:api/18.19, sample mode).
 */
export function sampleModelRows(
  series: { readonly name: string; readonly grain: 'day' | 'week' },
  from: Day,
  to: Day,
): readonly ModelRow[] {
  const days = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index).filter(
    (day) => series.grain === 'day' || day === weekStart(day),
  );
  return days.flatMap((day) =>
    [...models.map((name) => `sample/${name}`), 'other'].map((model) => ({
      day,
      model,
      totalTokens: 10_000_000_000n + invented(`${series.name} ${model} ${day}`),
    })),
  );
}

/** A number of up to ten digits, derived from the text. */
function invented(text: string): bigint {
  return BigInt(createHash('sha256').update(text).digest().readUInt32BE(0));
}
