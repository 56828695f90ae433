import { useRef } from 'react';
import { Icon } from '../icons.tsx';
import { titleOfCut, useFit } from './fit.ts';
import { type TableView, Text } from './table-grid.tsx';

/** The rows as a list: the title and the figure that counts on one line, the rest as pairs below. */
export function PhoneList<Row>({ view }: { view: TableView<Row> }) {
  const list = useRef<HTMLUListElement>(null);
  useFit(list);
  const { columns, rows, link } = view;
  const title = columns.find(({ isTitle }) => isTitle === true) ?? columns[0];
  const figure = columns.find(({ isMainFigure }) => isMainFigure === true);
  const shown = columns.filter(({ isWideOnly }) => isWideOnly !== true);
  const actions = shown.filter(({ kind }) => kind === 'actions');
  const rest = shown.filter((column) => column !== title && column !== figure && column.kind !== 'actions');
  return (
    <ul ref={list} aria-label={view.label} onPointerMove={titleOfCut} className="border-y">
      {rows.map(({ id, row }) => (
        <li
          key={id}
          className={`flex flex-col gap-1 border-b py-2.5 last:border-b-0 ${link === undefined ? '' : 'linked-row'}`}
        >
          <div className="flex min-h-6 flex-wrap items-center justify-end gap-x-3">
            <div className="min-w-28 flex-1 font-medium">
              {title === undefined ? null : (
                <Text>
                  {link === undefined
                    ? title.cell(row)
                    : link(row, { className: 'row-link', children: title.cell(row) })}
                </Text>
              )}
            </div>
            {figure === undefined ? null : (
              <div className="min-w-0 text-right">
                <p className="text-xs text-muted">{figure.header}</p>
                {figure.cell(row)}
              </div>
            )}
            {actions.map((column) => (
              <div key={column.id} className="empty:hidden">
                {column.cell(row)}
              </div>
            ))}
            {link === undefined ? null : <Icon name="chevronRight" size={14} className="text-muted" />}
          </div>
          <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-sm">
            {rest.map((column) => (
              <div key={column.id} className="flex min-w-0 items-baseline gap-1.5">
                <dt className="shrink-0 text-xs text-muted">{column.header}</dt>
                <dd className="min-w-0">
                  {column.kind === undefined || column.kind === 'text' ? (
                    <Text>{column.cell(row)}</Text>
                  ) : (
                    column.cell(row)
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
