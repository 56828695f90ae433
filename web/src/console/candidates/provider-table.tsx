import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Status } from '../../ui/badge.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Provider } from './data.ts';

/** The configured providers. Their secrets are never sent to a browser. */
export function ProviderTable({ providers }: { providers: readonly Provider[] | undefined }) {
  const { t } = useTranslation('candidates');
  const columns = useMemo(
    (): readonly Column<Provider>[] => [
      {
        id: 'name',
        header: t('column.provider'),
        cell: ({ name, slug }) => (
          <span>
            <span className="font-medium">{name}</span> <span className="text-muted">{slug}</span>
          </span>
        ),
        value: ({ slug }) => slug,
        isTitle: true,
      },
      {
        id: 'url',
        header: t('column.baseUrl'),
        cell: (row) => <span className="font-mono text-xs break-all">{row.base_url}</span>,
        value: (row) => row.base_url,
      },
      {
        id: 'dialect',
        header: t('column.dialect'),
        cell: ({ dialect, variant }) => (variant === null ? dialect : `${dialect} · ${variant}`),
        value: ({ dialect }) => dialect,
      },
      {
        id: 'secret',
        header: t('column.secret'),
        kind: 'state',
        cell: (row) => (
          <Status tone={row.has_secret ? 'good' : 'neutral'}>
            {t(row.has_secret ? 'secret.set' : 'secret.none')}
          </Status>
        ),
        value: (row) => row.has_secret,
        isMainFigure: true,
      },
    ],
    [t],
  );
  return (
    <DataTable
      id="providers"
      isPlain
      label={t('providers')}
      columns={columns}
      rows={providers}
      rowId={({ slug }) => slug}
      empty={<EmptyState icon="server" title={t('noProviders')} />}
    />
  );
}
