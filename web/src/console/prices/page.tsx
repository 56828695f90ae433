import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { PagedTable } from '../../app/paged-table.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { usePages } from '../../app/use-pages.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Figure, FigureRow, None, Time } from '../../ui/figures.tsx';
import { EmptyState, SkeletonLines } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useHistoryColumns, usePublishedColumns } from './columns.tsx';
import { Pending } from './pending.tsx';

const schema: SearchSchema<{ model: string }> = { model: text() };
const refreshMs = 15_000;

/** A5: what is published, what the file would change, what each price earns, and every price so far. */
export function Page() {
  const { t } = useTranslation('prices');
  const [{ model }, setSearch] = useSearchParams(schema);
  const prices = useQuery({ ...readQuery('GET /console/api/prices', {}), refetchInterval: refreshMs });
  const showModel = useCallback((next: string) => setSearch({ model: next }), [setSearch]);
  return (
    <Frame title={t('title')} aside={<QueryAge of={prices} />}>
      {prices.data === undefined ? (
        prices.isError ? (
          <ReadError of={prices} />
        ) : (
          <SkeletonLines lines={4} />
        )
      ) : (
        <>
          <Summary prices={prices.data} />
          <Pending file={prices.data.file} />
          <Published items={prices.data.items} metadata={prices.data.file.metadata} onModel={showModel} />
        </>
      )}
      <History model={model} onAll={() => setSearch({ model: '' })} />
    </Frame>
  );
}

function Summary({ prices }: { prices: ResponseOf<'GET /console/api/prices'> }) {
  const { t } = useTranslation('prices');
  const format = useFormat();
  const { edition, items, file } = prices;
  const margins = items.flatMap(({ margin_now: margin }) => (margin === null ? [] : [margin]));
  return (
    <FigureRow>
      <Figure isMain label={t('pendingCount')}>
        {file.fault === null ? format.count(file.changes.length) : <None />}
      </Figure>
      <Figure label={t('publishedCount')}>{format.count(items.length)}</Figure>
      <Figure label={t('lowestMargin')} note={t('lowestMarginNote')}>
        {margins.length === 0 ? <None /> : format.percent(Math.min(...margins) / 100)}
      </Figure>
      <Figure
        label={t('edition')}
        note={edition === null ? undefined : <Time at={Date.parse(edition.published_at)} />}
      >
        {edition === null ? <None /> : edition.id}
      </Figure>
    </FigureRow>
  );
}

function Published({
  items,
  metadata,
  onModel,
}: {
  items: ResponseOf<'GET /console/api/prices'>['items'];
  metadata: ResponseOf<'GET /console/api/prices'>['file']['metadata'];
  onModel: (model: string) => void;
}) {
  const { t } = useTranslation('prices');
  const columns = usePublishedColumns(onModel);
  const facts =
    metadata === null ? '' : ` ${t('metadata', { day: metadata.as_of, source: metadata.source })}`;
  return (
    <Section title={t('publishedTitle')} note={`${t('perMillion')}${facts}`}>
      <DataTable
        id="prices"
        label={t('publishedTitle')}
        columns={columns}
        rows={items}
        rowId={({ version, candidate }) => `${version} ${candidate}`}
        empty={<EmptyState icon="model" title={t('nothingPublished')} />}
      />
    </Section>
  );
}

function History({ model, onAll }: { model: string; onAll: () => void }) {
  const { t } = useTranslation('prices');
  const pages = usePages('GET /console/api/prices/history', { query: model === '' ? {} : { model } });
  const columns = useHistoryColumns();
  return (
    <Section title={t('history')} note={t('historyNote')}>
      <PagedTable
        id="price-history"
        label={t('history')}
        columns={columns}
        pages={pages}
        rowId={({ version }) => String(version)}
        tools={
          model === '' ? null : (
            <Button size="sm" icon="close" onClick={onAll}>
              {t('ofModel', { model })}
            </Button>
          )
        }
        empty={<EmptyState icon="clock" title={t('noHistory')} />}
      />
    </Section>
  );
}
