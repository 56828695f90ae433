import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { seoulDay, startOfDay } from '../../format/time.ts';
import { useFormat } from '../../i18n/use-format.ts';
import {
  Chart,
  type ChartPoint,
  type ChartSeries,
  durationValues,
  moneyValues,
  otherKey,
} from '../../ui/chart/index.tsx';

const firstMs = Date.UTC(2026, 9, 24);
const days = 30;

/** Amounts that look like use, the same every time. */
function amounts(seed: number, size: number): readonly bigint[] {
  return Array.from({ length: days }, (_, day) =>
    BigInt(Math.round((1.2 + Math.sin((day + seed) / 3)) * size * 1e6 * (1 + ((day * 7 + seed) % 5) / 5))),
  );
}

/** Bars, stacked bars and lines; a gap where there is no data. */
export function ChartExamples() {
  const { t } = useTranslation('components');
  const format = useFormat();
  const points = useMemo(
    (): readonly ChartPoint[] =>
      Array.from({ length: days }, (_, index) => {
        const atMs = startOfDay(seoulDay(firstMs, index)) ?? 0;
        return { key: atMs, label: format.dayShort(atMs), title: format.time(atMs, 'day') };
      }),
    [format],
  );
  const spend = useMemo((): readonly ChartSeries[] => {
    const other = amounts(5, 300);
    return [
      { key: 'naru/demo', label: 'naru/demo', values: amounts(0, 2400) },
      { key: 'qwen/qwen3-32b', label: 'qwen/qwen3-32b', values: amounts(2, 1200) },
      { key: 'anthropic/claude', label: 'anthropic/claude', values: amounts(4, 800) },
      { key: otherKey, label: t('common:chart.other'), values: other },
    ];
  }, [t]);
  const latency = useMemo(
    (): readonly ChartSeries[] => [
      { key: 'p50', label: 'p50', values: lineOf(420, 9) },
      { key: 'p95', label: 'p95', values: lineOf(1180, 13) },
    ],
    [],
  );
  const won = useMemo(() => moneyValues(format), [format]);
  return (
    <div className="grid gap-8 lg:grid-cols-2">
      <div className="lg:col-span-2">
        <Chart
          kind="bars"
          title={t('chartStacked')}
          pointHeader={t('day')}
          points={points}
          series={spend}
          values={won}
          onSelect={() => {}}
        />
      </div>
      <div>
        <Chart
          kind="bars"
          title={t('chartBars')}
          pointHeader={t('day')}
          points={points}
          series={spend.slice(0, 1)}
          values={won}
          heightPx={200}
        />
      </div>
      <div>
        <Chart
          kind="lines"
          title={t('chartLines')}
          pointHeader={t('day')}
          points={points}
          series={latency}
          values={durationValues(format)}
          heightPx={200}
        />
      </div>
    </div>
  );
}

function lineOf(base: number, step: number): readonly (number | null)[] {
  return Array.from({ length: days }, (_, day) =>
    day > 11 && day < 15 ? null : base * (1 + 0.3 * Math.sin(day / 2) + ((day * step) % 7) / 20),
  );
}
