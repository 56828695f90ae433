import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Section } from '../../app/page.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Duration } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { RequestsTodayLink, UsageLink } from '../usage-link.tsx';
import type { Now } from './data.ts';

type ErrorRow = Now['errors'][number];
type FirstTokenRow = Now['first_tokens'][number];

/** The errors of five minutes by their type. */
export function Errors({ errors }: { errors: readonly ErrorRow[] }) {
  const { t } = useTranslation('now');
  const format = useFormat();
  const columns = useMemo(
    (): readonly Column<ErrorRow>[] => [
      {
        id: 'type',
        header: t('column.type'),
        cell: ({ type }) => (
          <RequestsTodayLink view={{ error: type }}>
            <span className="font-mono text-xs">{type}</span>
          </RequestsTodayLink>
        ),
        value: ({ type }) => type,
        isTitle: true,
      },
      {
        id: 'count',
        header: t('column.count'),
        kind: 'number',
        cell: ({ type, count }) => (
          <UsageLink view={{ metric: 'requests', by: 'model', error: type }}>{format.count(count)}</UsageLink>
        ),
        value: ({ count }) => count,
        isMainFigure: true,
      },
    ],
    [t, format],
  );
  return (
    <Section title={t('errors')} note={t('over5min')}>
      <DataTable
        id="now-errors"
        isPlain
        label={t('errors')}
        columns={columns}
        rows={errors}
        rowId={({ type }) => type}
        empty={<EmptyState icon="checkCircle" title={t('noErrors')} />}
      />
    </Section>
  );
}

/** The time to the first token of streams over five minutes. */
export function FirstTokens({ rows }: { rows: readonly FirstTokenRow[] }) {
  const { t } = useTranslation('now');
  const format = useFormat();
  const columns = useMemo(
    (): readonly Column<FirstTokenRow>[] => [
      {
        id: 'source',
        header: t('column.candidate'),
        cell: ({ model, provider }) => (
          <UsageLink view={{ metric: 'ttft', by: 'provider', model, provider }}>
            {model} <span className="text-muted">{provider}</span>
          </UsageLink>
        ),
        value: ({ model, provider }) => `${model} ${provider}`,
        isTitle: true,
      },
      {
        id: 'p50',
        header: 'p50',
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.p50_ms} />,
        value: (row) => row.p50_ms,
        isMainFigure: true,
      },
      {
        id: 'p95',
        header: 'p95',
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.p95_ms} />,
        value: (row) => row.p95_ms,
      },
      {
        id: 'count',
        header: t('column.streams'),
        kind: 'number',
        cell: ({ model, provider, count }) => (
          <RequestsTodayLink view={{ model, provider }}>{format.count(count)}</RequestsTodayLink>
        ),
        value: ({ count }) => count,
      },
    ],
    [t, format],
  );
  return (
    <Section title={t('firstTokens')} note={t('over5min')}>
      <DataTable
        id="now-first-tokens"
        isPlain
        label={t('firstTokens')}
        columns={columns}
        rows={rows}
        rowId={({ model, provider }) => `${model} ${provider}`}
        empty={<EmptyState title={t('noStreams')} />}
      />
    </Section>
  );
}
