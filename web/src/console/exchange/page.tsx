import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { parseWon } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Figure, FigureRow, None, RelativeTime, Time } from '../../ui/figures.tsx';
import { Banner, EmptyState, SkeletonLines } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useChangeColumns } from '../prices/columns.tsx';

type Exchange = ResponseOf<'GET /console/api/exchange'>;
type Rate = Exchange['published'][number];

const refreshMs = 15_000;

/** A7: the rate in force and the one in the file, and what the latter does to prices before it is published. */
export function Page() {
  const { t } = useTranslation('exchange');
  const exchange = useQuery({ ...readQuery('GET /console/api/exchange', {}), refetchInterval: refreshMs });
  return (
    <Frame title={t('title')} aside={<QueryAge of={exchange} />}>
      {exchange.data === undefined ? (
        exchange.isError ? (
          <ReadError of={exchange} />
        ) : (
          <SkeletonLines lines={4} />
        )
      ) : (
        <Rates exchange={exchange.data} />
      )}
    </Frame>
  );
}

function Rates({ exchange }: { exchange: Exchange }) {
  const { t } = useTranslation('exchange');
  const format = useFormat();
  const { published, file, prices_in_usd: inUsd } = exchange;
  const [current] = published;
  const columns = useRateColumns();
  const effects = useChangeColumns();
  const changes = useMemo(
    () =>
      file.changes.filter(
        ({ change, stated_after: stated }) => change === 'price_changed' && stated?.currency === 'USD',
      ),
    [file.changes],
  );
  return (
    <>
      <FigureRow>
        <Figure isMain label={t('current')} note={t('perDollar')}>
          {current === undefined ? <None /> : <Won text={current.usd_krw} />}
        </Figure>
        <Figure
          label={t('since')}
          note={current === undefined ? undefined : <Time at={Date.parse(current.since)} />}
        >
          {current === undefined ? <None /> : <RelativeTime at={Date.parse(current.since)} />}
        </Figure>
        <Figure label={t('margin')}>{current === undefined ? <None /> : `${current.margin_percent}%`}</Figure>
        <Figure
          label={t('inUsd')}
          note={
            <Link to="/prices" className="hover:underline">
              {t('toPrices')}
            </Link>
          }
        >
          {format.count(inUsd)}
        </Figure>
      </FigureRow>
      <Section title={t('file')} note={t('fileNote')}>
        {file.fault !== null ? (
          <>
            <Banner tone="bad">{t('faulty')}</Banner>
            <pre className="overflow-x-auto rounded-md bg-subtle px-3 py-2 text-xs whitespace-pre-wrap">
              {file.fault}
            </pre>
          </>
        ) : file.exchange === null ? (
          <p className="text-sm text-muted">{t('noExchange')}</p>
        ) : (
          <FigureRow>
            <Figure
              label={t('fileRate')}
              note={<Difference from={current?.usd_krw} to={file.exchange.usd_krw} />}
            >
              <Won text={file.exchange.usd_krw} />
            </Figure>
            <Figure label={t('margin')}>{`${file.exchange.margin_percent}%`}</Figure>
          </FigureRow>
        )}
      </Section>
      {file.fault === null ? (
        <Section
          title={t('effect')}
          note={t('effectNote')}
          actions={
            changes.length === 0 ? null : (
              <Link to="/prices" className="text-sm hover:underline">
                {t('toPublish')}
              </Link>
            )
          }
        >
          <DataTable
            id="exchange-effect"
            isPlain
            label={t('effect')}
            columns={effects}
            rows={changes}
            rowId={({ model, candidate }) => `${model} ${candidate}`}
            empty={<EmptyState icon="checkCircle" title={t('noEffect')} />}
          />
        </Section>
      ) : null}
      <Section title={t('history')}>
        <DataTable
          id="exchange-history"
          label={t('history')}
          columns={columns}
          rows={published}
          rowId={({ since, usd_krw: rate }) => `${since} ${rate}`}
          empty={<EmptyState icon="clock" title={t('noHistory')} />}
        />
      </Section>
    </>
  );
}

/** An exact rate; one with more decimals than a won amount has is shown as it is. */
function Won({ text }: { text: string }) {
  const format = useFormat();
  const micro = parseWon(text);
  return <span className="whitespace-nowrap">{micro === null ? text : format.money(micro)}</span>;
}

function Difference({ from, to }: { from: string | undefined; to: string }) {
  const { t } = useTranslation('exchange');
  const format = useFormat();
  if (from === undefined || from === to) return t('same');
  const change = Number(to) / Number(from) - 1;
  return t('differs', { change: `${change > 0 ? '+' : ''}${format.percent(change)}` });
}

function useRateColumns(): readonly Column<Rate>[] {
  const { t } = useTranslation('exchange');
  return useMemo(
    (): readonly Column<Rate>[] => [
      {
        id: 'since',
        header: t('column.since'),
        kind: 'time',
        cell: ({ since }) => <Time at={Date.parse(since)} />,
        value: ({ since }) => Date.parse(since),
        isTitle: true,
      },
      {
        id: 'rate',
        header: t('column.rate'),
        kind: 'number',
        cell: ({ usd_krw: rate }) => <Won text={rate} />,
        value: ({ usd_krw: rate }) => Number(rate),
        isMainFigure: true,
      },
      {
        id: 'margin',
        header: t('margin'),
        kind: 'number',
        cell: ({ margin_percent: margin }) => `${margin}%`,
        value: ({ margin_percent: margin }) => Number(margin),
      },
    ],
    [t],
  );
}
