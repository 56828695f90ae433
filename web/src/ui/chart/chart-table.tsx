import { useMemo } from 'react';
import { None } from '../figures.tsx';
import type { Column } from '../table/column.ts';
import { DataTable } from '../table/data-table.tsx';
import type { ChartPoint, ChartProps } from './chart-data.ts';

interface Row {
  readonly point: ChartPoint;
  readonly index: number;
}

/** The numbers of a chart as a table. */
export function ChartTable({ title, pointHeader, points, series, values: format }: ChartProps) {
  const rows = useMemo(() => points.map((point, index): Row => ({ point, index })), [points]);
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'point',
        header: pointHeader,
        cell: ({ point }) => point.title,
        value: ({ index }) => index,
      },
      ...series.map(
        ({ key, label: name, values }): Column<Row> => ({
          id: key,
          header: name,
          kind: 'number',
          cell: ({ index }) => {
            const value = values[index] ?? null;
            return value === null ? <None /> : format.exact(value);
          },
          value: ({ index }) => values[index] ?? null,
        }),
      ),
    ],
    [pointHeader, series, format],
  );
  return (
    <div className="max-h-100 overflow-y-auto">
      <DataTable
        id={`chart-${title}`}
        label={title}
        columns={columns}
        rows={rows}
        rowId={({ index }) => String(index)}
        isPlain
      />
    </div>
  );
}
