import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Skeleton, StaleNote } from '../../ui/states.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { Covered } from '../now/covered.tsx';
import type { Phase } from './open-work.ts';
import { RequestTable } from './request-table.tsx';
import { UnsettledTable } from './unsettled-table.tsx';

const views = ['requests', 'unsettled'] as const;
const phases = ['all', 'preparing', 'waiting', 'calling', 'responding'] as const;
const schema: SearchSchema<{ view: (typeof views)[number]; phase: (typeof phases)[number] }> = {
  view: oneOf(views, 'requests'),
  phase: oneOf(phases, 'all'),
};
const refreshMs = 2_000;

/** The rows behind the live figures (A1): the requests in flight, and what is not settled. */
export function Page() {
  const { t } = useTranslation('open');
  const format = useFormat();
  const [{ view, phase }, change] = useSearchParams(schema);
  const work = useQuery({ ...readQuery('GET /console/api/now/open', {}), refetchInterval: refreshMs });
  const { data } = work;
  const counts = new Map<Phase, number>(data?.phases.map((one) => [one.phase, one.count]));
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const countOf = (one: (typeof phases)[number]): number => (one === 'all' ? total : (counts.get(one) ?? 0));
  const nowMs = data === undefined ? 0 : Date.parse(data.as_of);
  const shown = useMemo(
    () => data?.requests.filter((row) => phase === 'all' || row.phase === phase),
    [data, phase],
  );
  const error = work.isError && data === undefined ? <ReadError of={work} /> : null;
  return (
    <Frame
      title={t('title')}
      back={
        <Link to="/" className="hover:underline">
          {t('back')}
        </Link>
      }
      aside={
        data === undefined ? (
          work.isError ? null : (
            <Skeleton className="h-4 w-28" />
          )
        ) : (
          <StaleNote updatedMs={nowMs} isFailing={work.isError} />
        )
      }
      actions={
        <Segmented
          label={t('viewLabel')}
          value={view}
          onChange={(next) => change({ view: next })}
          options={views.map((value) => ({
            value,
            label: `${t(`view.${value}`)} ${data === undefined ? '' : format.count(value === 'requests' ? total : data.backlog)}`,
          }))}
        />
      }
    >
      {data === undefined ? null : <Covered processes={data.processes} />}
      {view === 'unsettled' ? (
        <UnsettledTable rows={data?.unsettled} total={data?.backlog ?? 0} nowMs={nowMs} error={error} />
      ) : (
        <RequestTable
          rows={shown}
          total={countOf(phase)}
          nowMs={nowMs}
          error={error}
          tools={
            <Segmented
              label={t('column.phase')}
              value={phase}
              onChange={(next) => change({ phase: next })}
              options={phases.map((value) => ({
                value,
                label: `${t(`phase.${value}`)} ${data === undefined ? '' : format.count(countOf(value))}`,
              }))}
            />
          }
        />
      )}
    </Frame>
  );
}
