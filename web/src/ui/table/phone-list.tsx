import { Icon } from '../icons.tsx';
import type { TableView } from './table-grid.tsx';

/** The rows as a list: the title and the figure that counts on one line, the rest as pairs below. */
export function PhoneList<Row>({ view }: { view: TableView<Row> }) {
  const { columns, rows, onOpen } = view;
  const title = columns.find(({ isTitle }) => isTitle === true) ?? columns[0];
  const figure = columns.find(({ isMainFigure }) => isMainFigure === true);
  const shown = columns.filter(({ isWideOnly }) => isWideOnly !== true);
  const actions = shown.filter(({ kind }) => kind === 'actions');
  const rest = shown.filter((column) => column !== title && column !== figure && column.kind !== 'actions');
  return (
    <ul aria-label={view.label} className="border-y">
      {rows.map(({ id, row }) => (
        <li key={id} className="flex flex-col gap-1 border-b py-2.5 last:border-b-0">
          <div className="flex min-h-6 items-center gap-3">
            <div className="min-w-0 flex-1 font-medium">
              {title === undefined ? null : onOpen === undefined ? (
                title.cell(row)
              ) : (
                <button type="button" className="rounded-sm text-left" onClick={() => onOpen(row)}>
                  {title.cell(row)}
                </button>
              )}
            </div>
            {figure === undefined ? null : (
              <div className="text-right">
                <p className="text-xs text-muted">{figure.header}</p>
                {figure.cell(row)}
              </div>
            )}
            {actions.map((column) => (
              <div key={column.id}>{column.cell(row)}</div>
            ))}
            {onOpen === undefined ? null : <Icon name="chevronRight" size={14} className="text-muted" />}
          </div>
          <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-sm">
            {rest.map((column) => (
              <div key={column.id} className="flex items-baseline gap-1.5">
                <dt className="text-xs text-muted">{column.header}</dt>
                <dd>{column.cell(row)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
