import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { Page as Frame } from '../../app/page.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Input } from '../../ui/field.tsx';
import { Duration, None } from '../../ui/figures.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { bestUptime, fastest, type Model, useModels } from './model.ts';
import { Where } from './where.tsx';

const schema: SearchSchema<{ search: string }> = { search: text() };
/** U9: what can be called, what it costs, and how it does at the moment; open to anybody. */
export function Page() {
  const { t } = useTranslation('models');
  const language = useLanguage();
  const [{ search }, change] = useSearchParams(schema);
  const [typed, setTyped] = useState(search);
  const models = useModels();
  const columns = useColumns();
  const rows = useMemo(() => {
    const wanted = typed.trim().toLowerCase();
    return models.data?.items.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
  }, [models.data, typed]);
  return (
    <Frame title={t('title')}>
      <DataTable
        id="models"
        label={t('title')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        tools={
          <div className="w-72 max-md:w-full">
            <Input
              type="search"
              aria-label={t('search')}
              placeholder={t('search')}
              value={typed}
              onChange={({ target }) => {
                setTyped(target.value);
                change({ search: target.value });
              }}
            />
          </div>
        }
        empty={
          <EmptyState icon="model" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
        error={
          models.isError && models.data === undefined ? (
            <ErrorState onRetry={() => void models.refetch()} isRetrying={models.isFetching}>
              {wordsOfError(models.error, language, t)}
            </ErrorState>
          ) : null
        }
      />
    </Frame>
  );
}

function useColumns(): readonly Column<Model>[] {
  const { t } = useTranslation('models');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Model>[] => [
      {
        id: 'id',
        header: t('column.model'),
        cell: (row) => (
          <div className="min-w-0">
            <Link
              to={`/models/${row.id}` as never}
              className="block truncate rounded-sm font-medium hover:underline"
            >
              {row.name}
            </Link>
            <CopyableId id={row.id} label={t('column.model')} maxChars={36} />
          </div>
        ),
        value: (row) => row.id,
        isTitle: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        cell: (row) => <Where model={row} />,
        value: (row) => row.candidates.some(({ is_local }) => is_local),
      },
      {
        id: 'context',
        header: t('column.context'),
        kind: 'number',
        cell: (row) => format.count(row.context_length),
        value: (row) => row.context_length,
      },
      {
        id: 'maxOutput',
        header: t('column.maxOutput'),
        kind: 'number',
        cell: (row) => format.count(row.max_completion_tokens),
        value: (row) => row.max_completion_tokens,
        isHiddenByDefault: true,
      },
      {
        id: 'can',
        header: t('column.can'),
        cell: (row) => (
          <span className="flex flex-wrap gap-1">
            {row.input_modalities
              .filter((one) => one !== 'text')
              .map((one) => (
                <Badge key={one}>{one}</Badge>
              ))}
            {row.supports_tools ? <Badge>{t('tools')}</Badge> : null}
          </span>
        ),
        value: (row) => row.supports_tools,
        isWideOnly: true,
      },
      {
        id: 'ttft',
        header: t('column.ttft'),
        kind: 'number',
        cell: (row) => <Duration ms={fastest(row)} />,
        value: fastest,
      },
      {
        id: 'uptime',
        header: t('column.uptime'),
        kind: 'number',
        cell: (row) => {
          const uptime = bestUptime(row);
          return uptime === null ? <None /> : format.percent(uptime / 100);
        },
        value: bestUptime,
      },
      {
        id: 'prompt',
        header: t('column.prompt'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.prompt_micro),
        value: (row) => parseMicro(row.price.prompt_micro),
      },
      {
        id: 'completion',
        header: t('column.completion'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.completion_micro),
        value: (row) => parseMicro(row.price.completion_micro),
        isMainFigure: true,
      },
    ],
    [format, t],
  );
}
