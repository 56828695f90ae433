import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { Money } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

/** Paid and bonus credit of one group. */
export interface SplitRow {
  readonly name: string;
  readonly order: number | string;
  readonly paid_micro: string;
  readonly bonus_micro: string;
}

/** Paid credit, bonus and their sum, one line for each group. */
export function SplitTable({
  id,
  label,
  header,
  rows,
}: {
  id: string;
  label: string;
  header: string;
  rows: readonly SplitRow[];
}) {
  const { t } = useTranslation('liability');
  const columns = useMemo((): readonly Column<SplitRow>[] => {
    const sumOf = (row: SplitRow): bigint => parseMicro(row.paid_micro) + parseMicro(row.bonus_micro);
    return [
      { id: 'name', header, cell: (row) => row.name, value: (row) => row.order, isTitle: true },
      {
        id: 'paid',
        header: t('paid'),
        kind: 'money',
        cell: (row) => <Money micro={row.paid_micro} />,
        value: (row) => parseMicro(row.paid_micro),
      },
      {
        id: 'bonus',
        header: t('bonus'),
        kind: 'money',
        cell: (row) => <Money micro={row.bonus_micro} />,
        value: (row) => parseMicro(row.bonus_micro),
      },
      {
        id: 'sum',
        header: t('column.sum'),
        kind: 'money',
        cell: (row) => <Money micro={sumOf(row)} />,
        value: sumOf,
        isMainFigure: true,
      },
    ];
  }, [header, t]);
  return <DataTable isPlain id={id} label={label} columns={columns} rows={rows} rowId={({ name }) => name} />;
}
