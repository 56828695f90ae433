import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { IconButton } from '../button.tsx';
import { Select } from '../field.tsx';
import { Menu } from '../menu.tsx';
import { showToast } from '../toast.tsx';
import { useIsPhone } from '../use-media.ts';
import type { Column, Sort } from './column.ts';
import { type ExportFormat, exportRows, type RowsInReads } from './export-rows.ts';
import { saveFile } from './save-file.ts';
import { pageSizes, type TableSettings } from './table-settings.ts';

export interface TableToolsProps<Row> {
  readonly id: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** There is nothing to order or to save. */
  readonly isEmpty: boolean;
  readonly settings: TableSettings;
  readonly onSettings: (settings: TableSettings) => void;
  readonly readAll: (() => RowsInReads<Row>) | undefined;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
  readonly tools: ReactNode;
}

/**
 * The line above a table: filters at the left; columns and export at the right, on a phone below the
 * filters where both do not fit.
 */
export function TableTools<Row>(props: TableToolsProps<Row>) {
  const isPhone = useIsPhone();
  return (
    <div className="flex min-h-7 flex-wrap items-center gap-2">
      <div className="flex min-w-0 flex-wrap items-center gap-2 md:flex-1 max-md:has-[[type=search]]:basis-full">
        {props.tools}
      </div>
      {props.isEmpty ? null : (
        <div className="ml-auto flex items-center gap-2">
          {isPhone ? (
            <PhoneSort columns={props.columns} sort={props.sort} onSort={props.onSort} />
          ) : (
            <ColumnMenu {...props} />
          )}
          <ExportMenu {...props} />
        </div>
      )}
    </div>
  );
}

function PhoneSort<Row>({
  columns,
  sort,
  onSort,
}: Pick<TableToolsProps<Row>, 'columns' | 'sort' | 'onSort'>) {
  const { t } = useTranslation();
  const options = columns
    .filter(({ value, isSortable }) => value !== undefined && isSortable !== false)
    .flatMap(({ id, header }) => [
      { value: `-${id}`, label: `${header} ↓` },
      { value: id, label: `${header} ↑` },
    ]);
  const value = sort === null ? '' : `${sort.isDescending ? '-' : ''}${sort.columnId}`;
  return (
    <Select
      aria-label={t('table.sort')}
      value={value}
      options={[{ value: '', label: t('table.sort') }, ...options]}
      onChange={({ target }) =>
        onSort(
          target.value === ''
            ? null
            : { columnId: target.value.replace(/^-/, ''), isDescending: target.value.startsWith('-') },
        )
      }
      className="w-36"
    />
  );
}

function ColumnMenu<Row>({ columns, settings, onSettings }: TableToolsProps<Row>) {
  const { t } = useTranslation();
  const toggle = (id: string, isShown: boolean): void =>
    onSettings({
      ...settings,
      hidden: isShown ? settings.hidden.filter((hidden) => hidden !== id) : [...settings.hidden, id],
    });
  return (
    <Menu
      trigger={<IconButton icon="columns" size="sm" label={t('table.columns')} />}
      items={[
        ...columns
          .filter(({ kind }) => kind !== 'actions')
          .map(({ id, header }, index) => ({
            kind: 'check' as const,
            label: header,
            isChecked: !settings.hidden.includes(id),
            isDisabled: index === 0,
            onChange: (isShown: boolean) => toggle(id, isShown),
          })),
        { kind: 'line' as const },
        {
          kind: 'choice' as const,
          label: t('table.pageSize'),
          value: String(settings.pageSize),
          options: pageSizes.map((size) => ({ value: String(size), label: String(size) })),
          onChange: (size: string) => onSettings({ ...settings, pageSize: Number(size) }),
        },
      ]}
    />
  );
}

function ExportMenu<Row>({ id, columns, rows, readAll }: TableToolsProps<Row>) {
  const { t } = useTranslation();
  const language = useLanguage();
  const [isBusy, setIsBusy] = useState(false);
  const save = async (kind: ExportFormat): Promise<void> => {
    setIsBusy(true);
    try {
      const { parts, count } = await exportRows(columns, readAll?.() ?? [rows], kind);
      saveFile(`naru-${id}`, parts, kind);
      showToast({ text: t('table.exported', { count, format: kind.toUpperCase() }) });
    } catch (error) {
      showToast({ tone: 'bad', text: wordsOfError(error, language, t) });
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <Menu
      trigger={<IconButton icon="download" size="sm" label={t('table.export')} isBusy={isBusy} />}
      items={[
        { label: 'CSV', onSelect: () => void save('csv') },
        { label: 'JSON', onSelect: () => void save('json') },
      ]}
    />
  );
}

export interface PagerProps {
  readonly pageIndex: number;
  readonly pageSize: number;
  readonly rowCount: number;
  readonly onPage: (pageIndex: number) => void;
}

/** Which rows are shown, and the way to the others. */
export function Pager({ pageIndex, pageSize, rowCount, onPage }: PagerProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const from = pageIndex * pageSize + 1;
  const to = Math.min(rowCount, from + pageSize - 1);
  return (
    <nav aria-label={t('table.pages')} className="flex items-center justify-end gap-1 text-sm text-muted">
      <span className="mr-2">
        {t('table.range', { from: format.count(from), to: format.count(to), total: format.count(rowCount) })}
      </span>
      <IconButton
        icon="chevronLeft"
        size="sm"
        label={t('table.previous')}
        disabled={pageIndex === 0}
        onClick={() => onPage(pageIndex - 1)}
      />
      <IconButton
        icon="chevronRight"
        size="sm"
        label={t('table.next')}
        disabled={to >= rowCount}
        onClick={() => onPage(pageIndex + 1)}
      />
    </nav>
  );
}
