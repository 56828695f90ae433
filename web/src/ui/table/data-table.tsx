import {
  columnVisibilityFeature,
  createPaginatedRowModel,
  createSortedRowModel,
  rowPaginationFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../button.tsx';
import { Skeleton } from '../states.tsx';
import { useIsPhone } from '../use-media.ts';
import { type CellValue, type Column, compareValues, type Sort } from './column.ts';
import type { RowsInReads } from './export-rows.ts';
import { PhoneList } from './phone-list.tsx';
import { type RowLink, TableGrid, type TableView } from './table-grid.tsx';
import { useTableSettings } from './table-settings.ts';
import { Pager, TableTools } from './table-tools.tsx';

export interface DataTableProps<Row> {
  /** A name of the table, for stored settings and file names; unique in the application. */
  readonly id: string;
  /** What the rows are, for assistive technology. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while the rows load. A stable array: made by a query or a memo. */
  readonly rows: readonly Row[] | undefined;
  readonly rowId: (row: Row) => string;
  /** What stands in place of no rows. */
  readonly empty?: ReactNode;
  /** What stands in place of the table when the rows could not be loaded. */
  readonly error?: ReactNode;
  /** Where a row leads, as a link. */
  readonly link?: RowLink<Row>;
  /** The order of the rows when it is kept in the URL or made by the server. */
  readonly sort?: Sort | null;
  /** The order until another one is chosen, where the table keeps it itself. */
  readonly initialSort?: Sort;
  readonly onSortChange?: (sort: Sort | null) => void;
  /** The rows come ordered from the server; a click on a heading only reports. */
  readonly isServerSorted?: boolean;
  /** All rows are in one scrolling window instead of pages; only the visible ones are rendered. */
  readonly isVirtual?: boolean;
  /** The server has more rows. */
  readonly onMore?: (() => void) | undefined;
  readonly isLoadingMore?: boolean;
  /** Reads all rows for a file where those here may not be all. */
  readonly readAll?: () => RowsInReads<Row>;
  /** Left of the tools: a search, a filter bar. */
  readonly tools?: ReactNode;
  /** No tools and no pages: a short table inside a page. */
  readonly isPlain?: boolean;
}

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  rowPaginationFeature,
  sortedRowModel: createSortedRowModel(),
  paginatedRowModel: createPaginatedRowModel(),
});
const noRows: readonly never[] = [];
/** Enough for one page; a virtual table has no pages. */
const allRows = Number.MAX_SAFE_INTEGER;
/** More rows than these have a window, and only what is in it is rendered. */
const maxRendered = 200;

/**
 * A table: sorting, chosen columns, pages or a virtual window, CSV and JSON. On a phone it becomes a
 * list. Loading, empty and failed are states of it.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { columns, rows, error, isPlain = false, isVirtual = false } = props;
  const isPhone = useIsPhone();
  const [ownSort, setOwnSort] = useState<Sort | null>(props.initialSort ?? null);
  const [pageIndex, setPageIndex] = useState(0);
  const [settings, setSettings] = useTableSettings(props.id, {
    hidden: columns.filter(({ isHiddenByDefault }) => isHiddenByDefault === true).map(({ id }) => id),
    pageSize: 25,
  });
  const sort = props.sort === undefined ? ownSort : props.sort;
  const pageSize = isPlain || isVirtual || props.onMore !== undefined ? allRows : settings.pageSize;
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const data = useMemo(() => (rows ?? []).map((row): Held<Row> => ({ row })), [rows]);
  const pageCount = Math.max(1, Math.ceil(data.length / pageSize));
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: ({ row }) => props.rowId(row),
    manualSorting: props.isServerSorted === true,
    state: {
      sorting: sort === null ? [] : [{ id: sort.columnId, desc: sort.isDescending }],
      columnVisibility: Object.fromEntries(settings.hidden.map((id) => [id, false])),
      pagination: { pageIndex: Math.min(pageIndex, pageCount - 1), pageSize },
    },
  });
  const changeSort = (next: Sort | null): void => {
    setPageIndex(0);
    if (props.onSortChange === undefined) setOwnSort(next);
    else props.onSortChange(next);
  };
  const shown = columns.filter(({ id }) => !settings.hidden.includes(id));
  const view: TableView<Row> = {
    label: props.label,
    columns: shown,
    rows: table.getRowModel().rows.map(({ id, original }) => ({ id, row: original.row })),
    sort,
    onSort: changeSort,
    link: props.link,
  };

  const isEmpty = rows !== undefined && rows.length === 0;
  if (error !== undefined && error !== null) return <>{error}</>;
  return (
    <div className="flex flex-col gap-2">
      {isPlain || (isEmpty && props.tools === undefined) ? null : (
        <TableTools
          id={props.id}
          columns={columns}
          rows={rows ?? noRows}
          isEmpty={isEmpty}
          settings={settings}
          onSettings={setSettings}
          readAll={props.readAll}
          sort={sort}
          onSort={changeSort}
          tools={props.tools}
        />
      )}
      <Body
        view={view}
        isLoading={rows === undefined}
        isPhone={isPhone}
        isVirtual={isVirtual || (pageSize === allRows && data.length > maxRendered)}
        empty={props.empty}
      />
      {isPlain || isVirtual || props.onMore !== undefined || data.length <= pageSize ? null : (
        <Pager
          pageIndex={Math.min(pageIndex, pageCount - 1)}
          pageSize={pageSize}
          rowCount={data.length}
          onPage={setPageIndex}
        />
      )}
      {props.onMore === undefined ? null : (
        <MoreButton onMore={props.onMore} isBusy={props.isLoadingMore === true} />
      )}
    </div>
  );
}

function Body<Row>(props: {
  view: TableView<Row>;
  isLoading: boolean;
  isPhone: boolean;
  isVirtual: boolean;
  empty: ReactNode;
}) {
  const { view, isLoading, isPhone, isVirtual } = props;
  const { t } = useTranslation();
  if (isLoading) return <TableSkeleton columns={isPhone ? 2 : view.columns.length} />;
  if (view.rows.length === 0)
    return props.empty === undefined ? (
      <p className="border-y py-8 text-center text-sm text-muted">{t('table.empty')}</p>
    ) : (
      props.empty
    );
  return isPhone ? <PhoneList view={view} /> : <TableGrid view={view} isVirtual={isVirtual} />;
}

function MoreButton({ onMore, isBusy }: { onMore: () => void; isBusy: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="flex justify-center py-2">
      <Button onClick={onMore} isBusy={isBusy}>
        {t('table.more')}
      </Button>
    </div>
  );
}

/** A row as the table's library takes it: an object of its own. */
type Held<Row> = { readonly row: Row };

function definitionOf<Row>(column: Column<Row>) {
  const valueIn = ({ row }: Held<Row>): CellValue => column.value?.(row) ?? null;
  return {
    id: column.id,
    accessorFn: valueIn,
    enableSorting: column.value !== undefined && column.isSortable !== false,
    sortFn: (a: { original: Held<Row> }, b: { original: Held<Row> }) =>
      compareValues(valueIn(a.original), valueIn(b.original)),
  };
}

/** The rows are loading. */
function TableSkeleton({ columns }: { columns: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('loading')} className="border-y">
      {[0, 1, 2, 3, 4, 5].map((line) => (
        <div key={line} className="flex h-9 items-center gap-6 border-b last:border-b-0">
          {Array.from({ length: columns }, (_, cell) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the cells are alike.
            <Skeleton key={cell} className={`h-3.5 ${cell === 0 ? 'flex-2' : 'flex-1'}`} />
          ))}
        </div>
      ))}
    </div>
  );
}
