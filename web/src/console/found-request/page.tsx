import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { firstPageQuery } from '../../api/query.ts';
import { Navigate } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { EmptyState, SkeletonLines } from '../../ui/states.tsx';

/** Leads from the id of a request to its page, whichever account sent it. */
export function Page() {
  const { t } = useTranslation('requests');
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const found = useQuery(firstPageQuery('GET /console/api/generations', { query: { find: id } }));
  const [row] = found.data?.items ?? [];
  if (row !== undefined) return <Navigate to={`/accounts/${row.account.id}/requests/${row.id}`} replace />;
  return (
    <Frame title={t('title')}>
      {found.data !== undefined ? (
        <EmptyState title={t('empty.notFound')}>{t('empty.notFoundAnywhere', { id })}</EmptyState>
      ) : found.isError ? (
        <ReadError of={found} />
      ) : (
        <SkeletonLines lines={4} />
      )}
    </Frame>
  );
}
