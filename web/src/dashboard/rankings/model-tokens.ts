import type { CallOf, ResponseOf } from '../../api/client.ts';
import { startOfDay } from '../../format/time.ts';
import type { Format } from '../../i18n/use-format.ts';
import { type ChartPoint, type ChartSeries, otherKey } from '../../ui/chart/index.tsx';

type Row = 'GET /dashboard/api/rankings/models';
/** The model ranking, as the API sends it. */
export type Ranking = ResponseOf<Row>;
/** The name of a slice of it. */
export type SeriesName = NonNullable<NonNullable<CallOf<Row>['query']>['series']>;

/** The tokens of one model in the span; the model is null for all others together. */
export interface ModelTokens {
  readonly rank: number | null;
  readonly model: string | null;
  readonly tokens: bigint;
  /** A fraction of all tokens. */
  readonly share: number;
}

/** How many models have a colour of their own. */
const chartedModels = 8;

/** A line for each model, and one for the rest where there is one. */
export function rowsOf({ models, other }: Ranking): readonly ModelTokens[] {
  const rest = BigInt(other.total_tokens);
  const total = models.reduce((sum, { total_tokens }) => sum + BigInt(total_tokens), rest);
  const share = (tokens: bigint): number =>
    total === 0n ? 0 : Number((tokens * 1_000_000n) / total) / 1_000_000;
  const rows = models.map(({ model, total_tokens }, index) => {
    const tokens = BigInt(total_tokens);
    return { rank: index + 1, model, tokens, share: share(tokens) };
  });
  return rest === 0n ? rows : [...rows, { rank: null, model: null, tokens: rest, share: share(rest) }];
}

/** The first models by date, stacked; a date that the source does not have is a gap. */
export function chartOf(
  { dates, models, other }: Ranking,
  otherLabel: string,
  format: Format,
): { readonly points: readonly ChartPoint[]; readonly series: readonly ChartSeries[] } {
  const first = models.slice(0, chartedModels);
  const rest = [...models.slice(chartedModels), other];
  const restByDate = dates.map((_, index) =>
    rest.reduce<bigint | null>((sum, { tokens }) => {
      const value = tokens[index] ?? null;
      return value === null ? sum : (sum ?? 0n) + BigInt(value);
    }, null),
  );
  const series: ChartSeries[] = first.map(({ model, tokens }) => ({
    key: model,
    label: model,
    values: tokens.map((value) => (value === null ? null : BigInt(value))),
  }));
  if (restByDate.some((value) => value !== null))
    series.push({ key: otherKey, label: otherLabel, values: restByDate });
  return {
    points: dates.map((date) => ({ key: date, label: format.dayShort(startOfDay(date) ?? 0), title: date })),
    series,
  };
}
