import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import { classNames } from '../class-names.ts';
import { Icon } from '../icons.tsx';
import { type Column, isFigure, isPinned, type Sort } from './column.ts';
import { titleOfCut, useFit } from './fit.ts';

/** What a table or a list shows of the rows. */
export interface TableView<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly { readonly id: string; readonly row: Row }[];
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
  readonly link: RowLink<Row> | undefined;
}

/** A link to what a row leads to, with these contents and classes. */
export type RowLink<Row> = (
  row: Row,
  props: { readonly className: string; readonly children: ReactNode },
) => ReactNode;

const rowPx = 36;
const windowPx = 560;

/** The rows as a table. A virtual one has a window of its own and renders what is in it. */
export function TableGrid<Row>({ view, isVirtual }: { view: TableView<Row>; isVirtual: boolean }) {
  return isVirtual ? <VirtualGrid view={view} /> : <PlainGrid view={view} />;
}

function PlainGrid<Row>({ view }: { view: TableView<Row> }) {
  const scroller = useRef<HTMLElement>(null);
  return (
    <Scroller label={view.label} scroller={scroller}>
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
    <Scroller label={view.label} scroller={scroller} maxHeightPx={windowPx}>
      <table className="w-full border-collapse text-sm" aria-rowcount={view.rows.length + 1}>
        <Head view={view} isSticky />
        <tbody>
          <Spacer heightPx={first?.start ?? 0} columns={view.columns.length} />
          {items.map((item) => {
            const found = view.rows[item.index];
            return found === undefined ? null : (
              <Line
                key={found.id}
                row={found.row}
                view={view}
                index={item.index}
                ref={virtualizer.measureElement}
              />
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
  scroller: React.RefObject<HTMLElement | null>;
  maxHeightPx?: number;
  children: ReactNode;
}) {
  useFit(props.scroller);
  return (
    <section
      ref={props.scroller}
      onPointerMove={titleOfCut}
      aria-label={props.label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus.
      tabIndex={0}
      className="table-scroll relative max-h-(--list-height) overflow-auto border-y"
      style={
        props.maxHeightPx === undefined
          ? undefined
          : ({ '--list-height': `${props.maxHeightPx}px` } as React.CSSProperties)
      }
    >
      {props.children}
    </section>
  );
}

function Head<Row>({ view, isSticky = false }: { view: TableView<Row>; isSticky?: boolean }) {
  return (
    <thead className={isSticky ? 'sticky top-0 z-10 bg-bg shadow-[0_1px_0_var(--border)]' : 'border-b'}>
      <tr>
        {view.columns.map((column, index) => (
          <HeadCell key={column.id} column={column} index={index} sort={view.sort} onSort={view.onSort} />
        ))}
      </tr>
    </thead>
  );
}

function HeadCell<Row>(props: {
  column: Column<Row>;
  index: number;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}) {
  const { column, index, sort, onSort } = props;
  const isSortable = column.value !== undefined && column.isSortable !== false;
  const sorted = sort?.columnId === column.id ? sort : null;
  const align = isFigure(column) ? 'text-right' : 'text-left';
  const cellClass = classNames(
    'h-8 px-3 font-medium whitespace-nowrap text-muted first:pl-0 last:pr-0',
    align,
    isPinned(column) && 'pinned',
  );
  if (!isSortable)
    return (
      <th scope="col" className={cellClass} style={placeOf(column, index)}>
        {column.kind === 'actions' ? <span className="sr-only">{column.header}</span> : column.header}
      </th>
    );
  return (
    <th
      scope="col"
      aria-sort={sorted === null ? 'none' : sorted.isDescending ? 'descending' : 'ascending'}
      className={cellClass}
      style={placeOf(column, index)}
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

/** Where a cell stays when the table is wider than its window: `useFit` sets the variable. */
function placeOf<Row>(column: Column<Row>, index: number) {
  return isPinned(column) ? { right: `var(--pin-${index})` } : undefined;
}

interface LineProps<Row> {
  readonly row: Row;
  readonly view: TableView<Row>;
  /** Of a virtual table, among all rows. */
  readonly index?: number;
  readonly ref?: (element: HTMLTableRowElement | null) => void;
}

/** A row. Where it leads somewhere, the link of its first cell covers it. */
function Line<Row>({ row, view: { columns, link }, index, ref }: LineProps<Row>) {
  return (
    <tr
      ref={ref}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2}
      className={classNames('border-b last:border-b-0 hover:bg-subtle', link !== undefined && 'linked-row')}
    >
      {columns.map((column, at) => {
        const isText = column.kind === undefined || column.kind === 'text';
        const content =
          at === 0 && link !== undefined
            ? link(row, { className: 'row-link', children: column.cell(row) })
            : column.cell(row);
        return (
          <td
            key={column.id}
            style={placeOf(column, at)}
            className={classNames(
              'h-9 px-3 py-1 first:pl-0 last:pr-0',
              !isText && 'whitespace-nowrap',
              isFigure(column) && 'text-right',
              column.kind === 'actions' && 'w-px text-right',
              isPinned(column) && 'pinned',
            )}
          >
            {isText ? <Text>{content}</Text> : content}
          </td>
        );
      })}
    </tr>
  );
}

/** Words in one line, of a greatest width; the row shows all of them while it has the focus. */
export function Text({ children }: { children: ReactNode }) {
  return (
    <div className="cell-text">
      <div dir="auto">{children}</div>
    </div>
  );
}
