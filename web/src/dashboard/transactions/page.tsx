import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type ResponseOf, read, urlOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { Page as Frame } from '../../app/page.tsx';
import { oneOf, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Input, Select } from '../../ui/field.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

type Line = ResponseOf<'GET /dashboard/api/ledger'>['items'][number];

const kinds = ['', 'topup', 'bonus', 'usage', 'refund', 'expiry', 'adjustment'] as const;
type Kind = (typeof kinds)[number];
const schema: SearchSchema<{ month: string; kind: Kind }> = { month: text(), kind: oneOf(kinds, '') };

/** U8: every movement of money, with the balance after it. */
export function Page() {
  const { t } = useTranslation('transactions');
  const language = useLanguage();
  const [{ month, kind }, change] = useSearchParams(schema);
  const asked = {
    ...(/^\d{4}-\d{2}$/.test(month) ? { month } : {}),
    ...(kind === '' ? {} : { kind }),
  };
  const columns = useColumns();
  const pages = useInfiniteQuery({
    queryKey: ['GET /dashboard/api/ledger', 'pages', asked] as const,
    queryFn: ({ pageParam, signal }) =>
      read('GET /dashboard/api/ledger', {
        query: { ...asked, ...(pageParam === null ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  return (
    <Frame
      title={t('title')}
      actions={
        <a href={urlOf('GET /dashboard/api/ledger/csv', { query: asked })} className={buttonClass()} download>
          {t('csv')}
        </a>
      }
    >
      <div className="flex flex-wrap items-center gap-2">
        <div className="w-44">
          <Input
            type="month"
            aria-label={t('month')}
            value={month}
            onChange={({ target }) => change({ month: target.value })}
          />
        </div>
        <Select
          aria-label={t('kindLabel')}
          value={kind}
          onChange={({ target }) => change({ kind: target.value as Kind })}
          options={kinds.map((value) => ({ value, label: t(`kind.${value === '' ? 'all' : value}`) }))}
        />
      </div>
      <DataTable
        id="transactions"
        label={t('title')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        onMore={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
        isLoadingMore={pages.isFetchingNextPage}
        empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
        error={
          pages.isError && rows === undefined ? (
            <ErrorState onRetry={() => void pages.refetch()} isRetrying={pages.isFetching}>
              {wordsOfError(pages.error, language, t)}
            </ErrorState>
          ) : null
        }
      />
    </Frame>
  );
}

function useColumns(): readonly Column<Line>[] {
  const { t } = useTranslation('transactions');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Line>[] => [
      {
        id: 'time',
        header: t('column.time'),
        kind: 'time',
        cell: (line) =>
          line.created_at === null ? t('wholeDay', { day: line.day }) : <Time at={line.created_at} />,
        value: (line) => line.created_at ?? line.day,
        isTitle: true,
        isSortable: false,
      },
      {
        id: 'kind',
        header: t('kindLabel'),
        cell: (line) => t(`kind.${line.kind}`),
        value: (line) => line.kind,
        isSortable: false,
      },
      {
        id: 'about',
        header: t('column.about'),
        cell: (line) =>
          line.generation_id !== null ? (
            <Link to={`/requests/${line.generation_id}` as never} className="hover:underline">
              {t('ofRequest')}
            </Link>
          ) : line.requests !== null ? (
            <Link
              to="/requests"
              search={{ range: 'custom', from: line.day, to: line.day } as never}
              className="hover:underline"
            >
              {t('requests', { count: line.requests, shown: format.count(line.requests) })}
            </Link>
          ) : (
            <None />
          ),
        value: (line) => line.generation_id ?? line.requests,
        isSortable: false,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (line) => <Money micro={line.amount_micro} signed />,
        value: (line) => parseMicro(line.amount_micro),
        isMainFigure: true,
        isSortable: false,
      },
      {
        id: 'balance',
        header: t('column.balance'),
        kind: 'money',
        cell: (line) => <Money micro={line.balance_micro} />,
        value: (line) => parseMicro(line.balance_micro),
        isSortable: false,
      },
    ],
    [format, t],
  );
}
