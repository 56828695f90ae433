import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PagedTable } from '../app/paged-table.tsx';
import type { Pages } from '../app/use-pages.ts';
import { EmptyState } from '../ui/states.tsx';
import type { Column } from '../ui/table/column.ts';
import type { RowLink } from '../ui/table/table-grid.tsx';
import type { RequestRow } from './columns.tsx';

export interface RequestTableProps<Row extends RequestRow> {
  /** Of the table, for its settings. */
  readonly id: string;
  readonly columns: readonly Column<Row>[];
  readonly pages: Pages<Row>;
  /** An id was searched for. */
  readonly isSearch: boolean;
  readonly link: RowLink<Row>;
  readonly tools?: ReactNode;
}

/** Requests that ended, newest first, as far as a person scrolls. */
export function RequestTable<Row extends RequestRow>({ isSearch, tools, ...table }: RequestTableProps<Row>) {
  const { t } = useTranslation('requests');
  return (
    <PagedTable
      {...table}
      {...(tools === undefined ? {} : { tools })}
      label={t('title')}
      rowId={(row) => row.id}
      isVirtual
      empty={
        <EmptyState title={t(isSearch ? 'empty.notFound' : 'empty.title')}>
          {t(isSearch ? 'empty.notFoundText' : 'empty.text')}
        </EmptyState>
      }
    />
  );
}
