import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Link, type Search, useNavigate } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useRange } from '../../app/search-params.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Figure, FigureRow, Money } from '../../ui/figures.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState, Skeleton, SkeletonLines } from '../../ui/states.tsx';
import { UsageChart } from '../../usage/usage-chart.tsx';
import { rangeQuery } from '../../usage/usage-search.ts';
import type { AppDetail } from '../apps/app.ts';
import { AppActions } from '../apps/app-actions.tsx';
import { MergedApps } from './merged-apps.tsx';
import { Recognition } from './recognition.tsx';

const keepSearch = (before: Search): Search => before;

/** One app: what it used, how it was recognised, and what counts as it. */
export function Page() {
  const { t } = useTranslation('apps');
  const navigate = useNavigate();
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const app = useQuery(readQuery('GET /dashboard/api/apps/{id}', { params: { id } }));
  const shownId = app.data?.app.id;
  // A merged app leads to the one that it counts as.
  useEffect(() => {
    if (shownId !== undefined && String(shownId) !== id)
      void navigate({ to: `/apps/${shownId}`, search: keepSearch, replace: true });
  }, [shownId, id, navigate]);
  const back = (
    <Link to="/apps" search={keepSearch} className="hover:underline">
      {t('back')}
    </Link>
  );
  if (app.data !== undefined) return <Shown detail={app.data} back={back} />;
  return (
    <Frame title={t('oneApp')} back={back}>
      {app.error instanceof ApiError && app.error.status === 404 ? (
        <EmptyState icon="apps" title={t('missing.title')}>
          {t('missing.text')}
        </EmptyState>
      ) : app.isError ? (
        <ReadError of={app} />
      ) : (
        <SkeletonLines lines={6} />
      )}
    </Frame>
  );
}

function Shown({ detail, back }: { detail: AppDetail; back: React.ReactNode }) {
  const { t } = useTranslation('apps');
  const navigate = useNavigate();
  const [range, setRange] = useRange();
  const { app, last_request: last } = detail;
  const query = useMemo(() => ({ ...rangeQuery(range), app: String(app.id) }), [range, app.id]);
  const all = useQuery(readQuery('GET /dashboard/api/apps', { query: rangeQuery(range) }));
  return (
    <Frame
      title={app.name}
      back={back}
      aside={app.is_hidden ? <Badge>{t('hidden')}</Badge> : null}
      actions={
        <>
          <RangePicker value={range} onChange={setRange} />
          <AppActions
            app={app}
            others={all.data?.items ?? []}
            onMerged={({ id }) => void navigate({ to: `/apps/${id}`, search: keepSearch })}
          />
        </>
      }
    >
      <Usage appId={app.id} query={query} />
      <Section title={t('byModel')}>
        <UsageChart query={query} metric="cost" by="model" />
      </Section>
      <Section title={t('recognition.title')}>
        <Recognition app={app} last={last} />
      </Section>
      {app.merged.length === 0 ? null : (
        <Section title={t('merged.title')} note={t('merged.note')}>
          <MergedApps apps={app.merged} />
        </Section>
      )}
    </Frame>
  );
}

/** The sums of the range; the requests behind them are a click away. */
function Usage({ appId, query }: { appId: number; query: Readonly<Record<string, string>> }) {
  const { t } = useTranslation('apps');
  const format = useFormat();
  const totals = useQuery(readQuery('GET /dashboard/api/usage/totals', { query }));
  if (totals.data === undefined)
    return totals.isError ? <ReadError of={totals} /> : <Skeleton className="h-14" />;
  const { sums } = totals.data;
  return (
    <FigureRow>
      <Figure isMain label={t('column.cost')}>
        <Money micro={sums.cost_micro} maxDecimals={2} />
      </Figure>
      <Figure
        label={t('column.requests')}
        note={
          <Link to="/requests" search={(before) => ({ ...before, app: String(appId) })} className="underline">
            {t('showRequests')}
          </Link>
        }
      >
        {format.count(sums.requests)}
      </Figure>
      <Figure label={t('usage:metric.prompt_tokens')}>{format.count(sums.prompt_tokens)}</Figure>
      <Figure label={t('usage:metric.completion_tokens')}>{format.count(sums.completion_tokens)}</Figure>
      <Figure label={t('usage:metric.error_rate')}>
        {sums.requests === 0 ? '–' : format.percent(sums.failures / sums.requests)}
      </Figure>
    </FigureRow>
  );
}
