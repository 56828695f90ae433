import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import { classNames } from '../class-names.ts';
import { Icon } from '../icons.tsx';
import { type Column, isFigure, type Sort } from './column.ts';

/** What a table or a list shows of the rows. */
export interface TableView<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly { readonly id: string; readonly row: Row }[];
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
}

const rowPx = 36;
const windowPx = 560;

/** The rows as a table. A virtual one has a window of its own and renders what is in it. */
export function TableGrid<Row>({ view, isVirtual }: { view: TableView<Row>; isVirtual: boolean }) {
  return isVirtual ? <VirtualGrid view={view} /> : <PlainGrid view={view} />;
}

function PlainGrid<Row>({ view }: { view: TableView<Row> }) {
  return (
    <Scroller label={view.label}>
      <table className="w-full border-collapse text-sm">
        <Head view={view} />
        <tbody>
          {view.rows.map(({ id, row }) => (
            <Line key={id} row={row} view={view} />
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function VirtualGrid<Row>({ view }: { view: TableView<Row> }) {
  const scroller = useRef<HTMLElement>(null);
  const virtualizer = useVirtualizer({
    count: view.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 12,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);
  const below = last === undefined ? 0 : virtualizer.getTotalSize() - last.end;
  return (
    <Scroller label={view.label} ref={scroller} maxHeightPx={windowPx}>
      <table className="w-full border-collapse text-sm" aria-rowcount={view.rows.length + 1}>
        <Head view={view} isSticky />
        <tbody>
          <Spacer heightPx={first?.start ?? 0} columns={view.columns.length} />
          {items.map((item) => {
            const found = view.rows[item.index];
            return found === undefined ? null : (
              <Line key={found.id} row={found.row} view={view} rowIndex={item.index + 2} />
            );
          })}
          <Spacer heightPx={below} columns={view.columns.length} />
        </tbody>
      </table>
    </Scroller>
  );
}

function Spacer({ heightPx, columns }: { heightPx: number; columns: number }) {
  if (heightPx <= 0) return null;
  return (
    <tr>
      <td colSpan={columns} style={{ height: heightPx, padding: 0 }} />
    </tr>
  );
}

/** A region that scrolls takes the focus, so that the keyboard can scroll it. */
function Scroller(props: {
  label: string;
  ref?: React.Ref<HTMLElement>;
  maxHeightPx?: number;
  children: ReactNode;
}) {
  return (
    <section
      ref={props.ref}
      aria-label={props.label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus.
      tabIndex={0}
      className="relative overflow-auto border-y"
      style={props.maxHeightPx === undefined ? undefined : { maxHeight: props.maxHeightPx }}
    >
      {props.children}
    </section>
  );
}

function Head<Row>({ view, isSticky = false }: { view: TableView<Row>; isSticky?: boolean }) {
  return (
    <thead className={isSticky ? 'sticky top-0 z-10 bg-bg shadow-[0_1px_0_var(--border)]' : 'border-b'}>
      <tr>
        {view.columns.map((column) => (
          <HeadCell key={column.id} column={column} sort={view.sort} onSort={view.onSort} />
        ))}
      </tr>
    </thead>
  );
}

function HeadCell<Row>(props: {
  column: Column<Row>;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}) {
  const { column, sort, onSort } = props;
  const isSortable = column.value !== undefined && column.isSortable !== false;
  const sorted = sort?.columnId === column.id ? sort : null;
  const align = isFigure(column) ? 'text-right' : 'text-left';
  const cellClass = classNames(
    'h-8 px-3 font-medium whitespace-nowrap text-muted first:pl-0 last:pr-0',
    align,
  );
  if (!isSortable)
    return (
      <th scope="col" className={cellClass}>
        {column.kind === 'actions' ? <span className="sr-only">{column.header}</span> : column.header}
      </th>
    );
  return (
    <th
      scope="col"
      aria-sort={sorted === null ? 'none' : sorted.isDescending ? 'descending' : 'ascending'}
      className={cellClass}
    >
      <button
        type="button"
        onClick={() => onSort(nextSort(column, sorted))}
        className={classNames(
          'group inline-flex h-6 items-center gap-1 rounded-sm hover:text-text',
          isFigure(column) && 'flex-row-reverse',
          sorted !== null && 'text-text',
        )}
      >
        {column.header}
        <Icon
          name={sorted === null || sorted.isDescending ? 'arrowDown' : 'arrowUp'}
          size={12}
          className={sorted === null ? 'opacity-0 group-hover:opacity-60 group-focus-visible:opacity-60' : ''}
        />
      </button>
    </th>
  );
}

/** Figures and times begin with the largest, texts with the first; the third click takes the order away. */
function nextSort<Row>(column: Column<Row>, sorted: Sort | null): Sort | null {
  const beginsDescending = column.kind !== undefined && column.kind !== 'text';
  if (sorted === null) return { columnId: column.id, isDescending: beginsDescending };
  return sorted.isDescending === beginsDescending
    ? { columnId: column.id, isDescending: !beginsDescending }
    : null;
}

function Line<Row>({ row, view, rowIndex }: { row: Row; view: TableView<Row>; rowIndex?: number }) {
  const { onOpen } = view;
  return (
    <tr
      aria-rowindex={rowIndex}
      onClick={
        onOpen === undefined
          ? undefined
          : (event) => {
              // A menu or a dialog of the row lies elsewhere in the document.
              const isOfRow = event.target instanceof Node && event.currentTarget.contains(event.target);
              if (isOfRow && !isInteractive(event.target)) onOpen(row);
            }
      }
      className={classNames(
        'border-b last:border-b-0 hover:bg-subtle',
        onOpen !== undefined && 'cursor-pointer',
      )}
    >
      {view.columns.map((column, index) => (
        <td
          key={column.id}
          className={classNames(
            'h-9 px-3 py-1 first:pl-0 last:pr-0',
            isFigure(column) && 'text-right whitespace-nowrap',
            column.kind === 'actions' && 'w-px text-right whitespace-nowrap',
          )}
        >
          {index === 0 && onOpen !== undefined ? (
            <button
              type="button"
              onClick={() => onOpen(row)}
              className="rounded-sm text-left hover:underline"
            >
              {column.cell(row)}
            </button>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

function isInteractive(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, label') !== null;
}
