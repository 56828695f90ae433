import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

type Provider = ResponseOf<'GET /dashboard/api/public/providers'>['items'][number];

/** Who answers requests here, with their policies; open to anybody. */
export function Page() {
  const { t } = useTranslation('providers');
  const providers = useQuery(readQuery('GET /dashboard/api/public/providers', {}));
  const columns = useColumns();
  return (
    <Frame title={t('title')}>
      <DataTable
        isPlain
        id="providers"
        label={t('title')}
        columns={columns}
        rows={providers.data?.items}
        rowId={({ slug }) => slug}
        empty={
          <EmptyState icon="server" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
        error={providers.isError && providers.data === undefined ? <ReadError of={providers} /> : null}
      />
    </Frame>
  );
}

function useColumns(): readonly Column<Provider>[] {
  const { t } = useTranslation('providers');
  const format = useFormat();
  return useMemo((): readonly Column<Provider>[] => {
    const pages = ['privacy_policy_url', 'terms_of_service_url', 'status_page_url'] as const;
    return [
      {
        id: 'name',
        header: t('column.name'),
        cell: ({ name, slug }) => (
          <span className="flex flex-col py-1">
            <span className="font-medium">{name}</span>
            <span className="font-mono text-xs text-muted">{slug}</span>
          </span>
        ),
        value: ({ name }) => name,
        isTitle: true,
      },
      ...pages.map(
        (page): Column<Provider> => ({
          id: page,
          header: t(`column.${page}`),
          cell: (row) => <Address url={row[page]} />,
          value: (row) => row[page],
        }),
      ),
      {
        id: 'models',
        header: t('column.models'),
        kind: 'number',
        cell: ({ models }) => format.count(models),
        value: ({ models }) => models,
        isMainFigure: true,
      },
    ];
  }, [format, t]);
}

/** A page of the provider. Only addresses of the web are links. */
function Address({ url }: { url: string | null }) {
  if (url === null) return <None />;
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol)) return <>{url}</>;
  return (
    <a href={address.href} target="_blank" rel="noopener noreferrer" className="underline">
      {address.hostname}
    </a>
  );
}
