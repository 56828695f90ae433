import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Scatter, type ScatterPoint } from '../../ui/chart/scatter.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { fastestSpeed, type Model } from './model.ts';

/** What the models cost against how fast they write, each a link to its page. */
export function PriceSpeed({ models }: { models: readonly Model[] }) {
  const { t } = useTranslation('models');
  const format = useFormat();
  const points = useMemo(
    () =>
      models.flatMap((model): ScatterPoint[] => {
        const x = fastestSpeed(model);
        return x === null
          ? []
          : [{ key: model.id, label: model.name, x, y: parseMicro(model.price.completion_micro) }];
      }),
    [models],
  );
  const axes = useMemo(
    () => ({
      x: { label: t('speed'), exact: format.rate, tick: format.rate },
      y: {
        label: t('column.completion'),
        exact: (micro: bigint) => format.pricePerMillion(micro),
        tick: format.moneyAxis,
      },
    }),
    [format, t],
  );
  if (points.length === 0)
    return (
      <EmptyState icon="chart" title={t('noSpeed.title')}>
        {t('noSpeed.text')}
      </EmptyState>
    );
  return (
    <>
      <Scatter
        title={t('priceSpeed')}
        pointHeader={t('column.model')}
        points={points}
        {...axes}
        linkOf={(point, mark) => <Link to={`/models/${point.key}`} {...mark} />}
      />
      {points.length < models.length ? (
        <p className="text-sm text-muted">{t('unmeasured', { count: models.length - points.length })}</p>
      ) : null}
    </>
  );
}
