import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { SlotsNow } from './data.ts';

type Gpu = SlotsNow['gpus'][number];

/** The memory of the GPUs: what slots may use, what they use, and what is in use by anything. */
export function GpuTable({ gpus }: { gpus: readonly Gpu[] }) {
  const { t } = useTranslation('slots');
  const format = useFormat();
  const columns = useMemo((): readonly Column<Gpu>[] => {
    const memory = (id: 'budget_mb' | 'reserved_mb' | 'used_mb', header: string): Column<Gpu> => ({
      id,
      header,
      kind: 'number',
      unit: 'mb',
      cell: (row) => {
        const mb = row[id];
        return mb === null ? <None /> : t('mib', { mb: format.count(mb) });
      },
      value: (row) => row[id],
      isMainFigure: id === 'reserved_mb',
    });
    return [
      { id: 'id', header: t('column.gpu'), cell: ({ id }) => id, value: ({ id }) => id, isTitle: true },
      memory('reserved_mb', t('column.reserved')),
      memory('budget_mb', t('column.budget')),
      memory('used_mb', t('column.used')),
    ];
  }, [format, t]);
  return (
    <DataTable id="gpus" isPlain label={t('gpus')} columns={columns} rows={gpus} rowId={({ id }) => id} />
  );
}
