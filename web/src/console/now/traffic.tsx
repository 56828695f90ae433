import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from '../../app/link.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Chart, countValues } from '../../ui/chart/index.tsx';
import { requestsToday } from '../usage-link.tsx';
import type { Now } from './data.ts';

/** The requests of five minutes, five seconds a bar; a bar leads to those of the day. */
export function Traffic({ now }: { now: Now }) {
  const { t } = useTranslation('now');
  const format = useFormat();
  const navigate = useNavigate();
  const { steps } = now;
  const points = useMemo(
    () =>
      steps.map(({ start }) => ({
        key: Date.parse(start),
        label: format.time(start, 'clock'),
        title: format.time(start, 'second'),
      })),
    [steps, format],
  );
  return (
    <Chart
      kind="bars"
      title={t('traffic')}
      pointHeader={t('time')}
      heightPx={140}
      points={points}
      series={[
        {
          key: 'succeeded',
          label: t('succeeded'),
          statusClass: '2xx',
          values: steps.map((step) => Math.max(0, step.requests - step.failures)),
        },
        {
          key: 'failed',
          label: t('failed'),
          statusClass: '5xx',
          values: steps.map((step) => step.failures),
        },
      ]}
      values={countValues(format)}
      onSelect={() => void navigate(requestsToday({}))}
    />
  );
}
