import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Status } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Duration, Money, Time } from '../../ui/figures.tsx';
import { Menu } from '../../ui/menu.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';

interface Row {
  readonly id: string;
  readonly atMs: number;
  readonly model: string;
  readonly tokens: number;
  readonly costMicro: bigint;
  readonly durationMs: number;
  readonly isOk: boolean;
}

const views = ['pages', 'virtual', 'loading', 'empty', 'failed'] as const;
const models = ['naru/demo', 'qwen/qwen3-32b', 'anthropic/claude'];
const rowsOfExample: readonly Row[] = Array.from({ length: 2000 }, (_, index) => ({
  id: `gen-${1764000000 - index * 61}-aB3dE5fG7h${String(index).padStart(4, '0')}`,
  atMs: Date.UTC(2026, 10, 22, 5) - index * 61_000,
  model: models[index % models.length] ?? '',
  tokens: (index * 379) % 4096,
  costMicro: BigInt(((index * 7919) % 100_000) * 137),
  durationMs: 200 + ((index * 433) % 9000),
  isOk: index % 11 !== 3,
}));
const noRows: readonly Row[] = [];

/** One table in all its states. */
export function TableExamples() {
  const { t } = useTranslation('components');
  const [view, setView] = useState<(typeof views)[number]>('pages');
  const columns = useMemo((): readonly Column<Row>[] => columnsOf(t), [t]);
  return (
    <DataTable
      id="components"
      label={t('tables')}
      columns={columns}
      rows={view === 'loading' ? undefined : view === 'empty' ? noRows : rowsOfExample}
      rowId={({ id }) => id}
      isVirtual={view === 'virtual'}
      empty={
        <EmptyState title={t('emptyTitle')}>
          <p>{t('emptyText')}</p>
        </EmptyState>
      }
      error={view === 'failed' ? <ErrorState onRetry={() => setView('pages')} /> : null}
      link={(_, props) => <Link to="/components" {...props} />}
      tools={
        <Segmented
          label={t('tableView')}
          value={view}
          onChange={setView}
          options={views.map((value) => ({ value, label: t(`view.${value}`) }))}
        />
      }
    />
  );
}

function columnsOf(t: (key: string) => string): readonly Column<Row>[] {
  return [
    {
      id: 'time',
      header: t('time'),
      kind: 'time',
      cell: ({ atMs }) => <Time at={atMs} style="second" />,
      value: ({ atMs }) => atMs,
      isTitle: true,
    },
    { id: 'model', header: t('model'), cell: ({ model }) => model, value: ({ model }) => model },
    {
      id: 'id',
      header: t('generationId'),
      cell: ({ id }) => <CopyableId id={id} label={t('generationId')} />,
      value: ({ id }) => id,
      isWideOnly: true,
    },
    {
      id: 'status',
      header: t('status'),
      kind: 'state',
      cell: ({ isOk }) => <Status tone={isOk ? 'good' : 'bad'}>{isOk ? t('succeeded') : t('failed')}</Status>,
      value: ({ isOk }) => isOk,
    },
    {
      id: 'tokens',
      header: t('tokens'),
      kind: 'number',
      cell: ({ tokens }) => tokens.toLocaleString('en'),
      value: ({ tokens }) => tokens,
    },
    {
      id: 'duration',
      header: t('duration'),
      kind: 'number',
      unit: 'ms',
      cell: ({ durationMs }) => <Duration ms={durationMs} />,
      value: ({ durationMs }) => durationMs,
    },
    {
      id: 'cost',
      header: t('cost'),
      kind: 'money',
      cell: ({ costMicro }) => <Money micro={costMicro} />,
      value: ({ costMicro }) => costMicro,
      isMainFigure: true,
    },
    {
      id: 'actions',
      header: t('actions'),
      kind: 'actions',
      cell: () => (
        <Menu
          trigger={<IconButton icon="more" size="sm" label={t('actions')} />}
          items={[{ label: t('edit'), onSelect: () => {} }]}
        />
      ),
    },
  ];
}
