import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueriesAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { flag, type SearchSchema, useRange, useSearchParams } from '../../app/search-params.ts';
import { type AppRequests, type AppRow, byCost, noAppId, useAppColumns } from '../../apps/columns.tsx';
import { Switch } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { MetricChart } from '../../usage/metric-chart.tsx';
import { rangeQuery } from '../../usage/usage-search.ts';
import { AppActions } from './app-actions.tsx';
import { SendHeaders } from './send-headers.tsx';

const schema: SearchSchema<{ hidden: boolean }> = { hidden: flag() };

/** U4: which program spends what, and how it was recognised. */
export function Page() {
  const { t } = useTranslation('apps');
  const [range, setRange] = useRange();
  const [{ hidden }, change] = useSearchParams(schema);
  const query = useMemo(() => rangeQuery(range), [range]);
  const apps = useQuery(readQuery('GET /dashboard/api/apps', { query }));
  const all = apps.data?.items;
  const columns = useColumns(all ?? noApps);
  const hiddenCount = all?.filter(({ is_hidden }) => is_hidden).length ?? 0;
  const rows = useMemo(() => all?.filter(({ is_hidden }) => hidden || !is_hidden), [all, hidden]);
  return (
    <Frame
      title={t('title')}
      aside={<QueriesAge />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      <MetricChart title={t('overTime')} query={query} by="app" />
      <DataTable
        id="apps"
        label={t('title')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => String(id)}
        initialSort={byCost}
        link={({ id }, props) =>
          id === noAppId ? (
            <Link to="/requests" search={(before) => ({ ...before, app: String(id) })} {...props} />
          ) : (
            <Link to={`/apps/${id}`} search={(before) => before} {...props} />
          )
        }
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
        error={apps.isError && all === undefined ? <ReadError of={apps} /> : null}
      />
      <Section title={t('send.title')}>
        <SendHeaders />
      </Section>
    </Frame>
  );
}

const noApps: readonly AppRow[] = [];
const requests: AppRequests = { to: '/requests', search: {} };

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
