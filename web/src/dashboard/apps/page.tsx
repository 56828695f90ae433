import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueriesAge } from '../../app/queries-age.tsx';
import { flag, oneOf, type SearchSchema, useRange, useSearchParams } from '../../app/search-params.ts';
import { type AppRow, noAppId, useAppColumns } from '../../apps/columns.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { Switch } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { UsageChart } from '../../usage/usage-chart.tsx';
import { rangeQuery } from '../../usage/usage-search.ts';
import { AppActions } from './app-actions.tsx';
import { SendHeaders } from './send-headers.tsx';

const metrics = ['cost', 'requests', 'completion_tokens'] as const;
type Metric = (typeof metrics)[number];
const schema: SearchSchema<{ metric: Metric; hidden: boolean }> = {
  metric: oneOf(metrics, 'cost'),
  hidden: flag(),
};

/** U4: which program spends what, and how it was recognised. */
export function Page() {
  const { t } = useTranslation('apps');
  const language = useLanguage();
  const navigate = useNavigate();
  const [range, setRange] = useRange();
  const [{ metric, hidden }, change] = useSearchParams(schema);
  const query = useMemo(() => rangeQuery(range), [range]);
  const apps = useQuery(readQuery('GET /dashboard/api/apps', { query }));
  const all = apps.data?.items;
  const columns = useColumns(all ?? noApps);
  const hiddenCount = all?.filter(({ is_hidden }) => is_hidden).length ?? 0;
  const rows = useMemo(() => all?.filter(({ is_hidden }) => hidden || !is_hidden), [all, hidden]);
  const open = ({ id }: AppRow): void => {
    const search = (before: object) => ({ ...before, app: String(id) });
    void (id === noAppId
      ? navigate({ to: '/requests', search: search as never })
      : navigate({ to: `/apps/${id}` as never, search: ((before: object) => before) as never }));
  };
  return (
    <Frame
      title={t('title')}
      aside={<QueriesAge />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      <Section
        title={t('overTime')}
        actions={
          <Segmented
            label={t('metric')}
            value={metric}
            onChange={(next) => change({ metric: next })}
            options={metrics.map((value) => ({ value, label: t(`usage:metric.${value}`) }))}
          />
        }
      >
        <UsageChart query={query} metric={metric} by="app" />
      </Section>
      <DataTable
        id="apps"
        label={t('title')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => String(id)}
        onOpen={open}
        tools={
          hiddenCount === 0 ? null : (
            <Switch
              label={t('showHidden', { count: hiddenCount })}
              checked={hidden}
              onChange={({ target }) => change({ hidden: target.checked })}
            />
          )
        }
        empty={
          <EmptyState icon="apps" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
        error={
          apps.isError && all === undefined ? (
            <ErrorState onRetry={() => void apps.refetch()} isRetrying={apps.isFetching}>
              {wordsOfError(apps.error, language, t)}
            </ErrorState>
          ) : null
        }
      />
      <Section title={t('send.title')}>
        <SendHeaders />
      </Section>
    </Frame>
  );
}

const noApps: readonly AppRow[] = [];
const requests = { path: '/requests', search: {} };

/** The columns of the list, and what can be done with an app. */
function useColumns(apps: readonly AppRow[]): readonly Column<AppRow>[] {
  const { t } = useTranslation('apps');
  const columns = useAppColumns(apps, requests);
  return useMemo(
    () => [
      ...columns,
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (row.id === noAppId ? null : <AppActions app={row} others={apps} />),
      },
    ],
    [columns, apps, t],
  );
}
