import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { parseMicro } from '../format/money.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Status } from '../ui/badge.tsx';
import { Duration, Money, None, Time } from '../ui/figures.tsx';
import type { Column } from '../ui/table/column.ts';

/** A request in a list of the account, also when an operator reads it. */
export type RequestRow = ResponseOf<'GET /dashboard/api/generations'>['items'][number];

/** The outcome of a request with its word. */
export function Outcome({ row }: { row: RequestRow }) {
  const { t } = useTranslation('requests');
  const tone = row.outcome === 'ok' ? 'good' : row.outcome === 'failed' ? 'bad' : 'neutral';
  const count = row.refusals === null || row.refusals < 2 ? '' : ` ×${row.refusals}`;
  return (
    <Status tone={tone}>
      {row.outcome === 'failed'
        ? `${row.status} ${row.error_type ?? ''}${count}`
        : t(`outcome.${row.outcome}`)}
    </Status>
  );
}

/** The columns of the list of requests. */
export function useRequestColumns(): readonly Column<RequestRow>[] {
  const { t } = useTranslation('requests');
  const format = useFormat();
  return useMemo(
    (): readonly Column<RequestRow>[] => [
      {
        id: 'time',
        header: t('column.time'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="second" />,
        value: (row) => Date.parse(row.created_at),
        isTitle: true,
      },
      {
        id: 'outcome',
        header: t('column.outcome'),
        kind: 'state',
        cell: (row) => <Outcome row={row} />,
        value: (row) => row.status,
      },
      {
        id: 'model',
        header: t('column.model'),
        cell: (row) => <ModelCell row={row} />,
        value: (row) => row.model ?? row.asked_model,
      },
      {
        id: 'provider',
        header: t('column.provider'),
        cell: (row) => row.provider ?? <None />,
        value: (row) => row.provider,
      },
      {
        id: 'app',
        header: t('column.app'),
        cell: (row) => row.app?.name ?? <None />,
        value: (row) => row.app?.name ?? null,
        isWideOnly: true,
      },
      {
        id: 'key',
        header: t('column.key'),
        cell: (row) => row.key?.name ?? <None />,
        value: (row) => row.key?.name ?? null,
        isWideOnly: true,
      },
      {
        id: 'prompt',
        header: t('column.prompt'),
        kind: 'number',
        cell: (row) => format.count(row.prompt_tokens),
        value: (row) => row.prompt_tokens,
      },
      {
        id: 'completion',
        header: t('column.completion'),
        kind: 'number',
        cell: ({ completion_tokens: tokens, reasoning_tokens: reasoning }) => (
          <>
            {reasoning === 0 ? null : (
              <span className="text-xs text-muted">
                {t('reasoning', { tokens: format.count(reasoning) })}{' '}
              </span>
            )}
            {format.count(tokens)}
          </>
        ),
        value: (row) => row.completion_tokens,
      },
      {
        id: 'ttft',
        header: t('column.ttft'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.latency_ms} />,
        value: (row) => row.latency_ms,
      },
      {
        id: 'duration',
        header: t('column.duration'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.generation_ms} />,
        value: (row) => row.generation_ms,
        isHiddenByDefault: true,
      },
      {
        id: 'finish',
        header: t('column.finish'),
        cell: (row) => row.finish_reason ?? <None />,
        value: (row) => row.finish_reason,
        isHiddenByDefault: true,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        kind: 'money',
        cell: (row) => <Money micro={row.cost_micro} />,
        value: (row) => parseMicro(row.cost_micro),
        isMainFigure: true,
      },
      hiddenText('generationId', t('column.generationId'), ({ id }) => id),
      hiddenText('requestId', t('column.requestId'), (row) => row.request_id),
      hiddenText('errorType', t('column.errorType'), (row) => row.error_type),
      hiddenText('user', t('column.user'), (row) => row.user),
      hiddenText('tags', t('column.tags'), (row) => tagsOf(row) || null),
    ],
    [format, t],
  );
}

/** The texts of the `metadata` of a request. */
export function tagsOf({ tags }: RequestRow): string {
  return tags.map(({ name, value }) => `${name}=${value}`).join(', ');
}

/** What a file has of each request, and the table only where it is chosen. */
function hiddenText(
  id: string,
  header: string,
  value: (row: RequestRow) => string | null,
): Column<RequestRow> {
  return { id, header, cell: (row) => value(row) ?? <None />, value, isHiddenByDefault: true };
}

/** The model that answered, and the model that was asked for when it is another one. */
function ModelCell({ row }: { row: RequestRow }) {
  const { t } = useTranslation('requests');
  const answered = row.model ?? row.asked_model;
  if (answered === null) return <None />;
  if (row.asked_model === null || row.asked_model === answered) return <>{answered}</>;
  return (
    <span>
      {answered} <span className="text-muted">{t('askedFor', { model: row.asked_model })}</span>
    </span>
  );
}
