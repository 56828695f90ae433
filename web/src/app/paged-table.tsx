import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../api/errors.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { ErrorState, StaleNote } from '../ui/states.tsx';
import { DataTable, type DataTableProps } from '../ui/table/data-table.tsx';
import type { Pages } from './use-pages.ts';

export interface PagedTableProps<Row>
  extends Omit<DataTableProps<Row>, 'rows' | 'error' | 'onMore' | 'isLoadingMore' | 'readAll'> {
  readonly pages: Pages<Row>;
}

/** The table of a list that the server has in pages, with its states. */
export function PagedTable<Row>({ pages, ...table }: PagedTableProps<Row>) {
  const { t } = useTranslation();
  const language = useLanguage();
  return (
    <DataTable
      {...table}
      rows={pages.rows}
      onMore={pages.onMore}
      isLoadingMore={pages.isLoadingMore}
      readAll={pages.readAll}
      error={
        pages.error === null ? null : (
          <ErrorState onRetry={pages.refetch} isRetrying={pages.isFetching}>
            {wordsOfError(pages.error, language, t)}
          </ErrorState>
        )
      }
    />
  );
}

/** How old the rows of a list are, for the head of its page. */
export function PagesAge({ pages }: { pages: Pages<unknown> }): ReactNode {
  return (
    <StaleNote
      updatedMs={pages.rows === undefined ? null : pages.updatedMs}
      isFailing={pages.isFailing}
      onRefresh={pages.refetch}
      isRefreshing={pages.isFetching}
    />
  );
}
