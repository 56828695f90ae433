import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { EmptyState, ErrorState, SkeletonLines } from '../../ui/states.tsx';

/** Leads from the id of a request to its page, whichever account sent it. */
export function Page() {
  const { t } = useTranslation('requests');
  const language = useLanguage();
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const found = useQuery(readQuery('GET /console/api/generations', { query: { find: id } }));
  const [row] = found.data?.items ?? [];
  if (row !== undefined)
    return <Navigate to={`/accounts/${row.account.id}/requests/${row.id}` as never} replace />;
  return (
    <Frame title={t('title')}>
      {found.data !== undefined ? (
        <EmptyState title={t('empty.notFound')}>{t('empty.notFoundAnywhere', { id })}</EmptyState>
      ) : found.isError ? (
        <ErrorState onRetry={() => void found.refetch()} isRetrying={found.isFetching}>
          {wordsOfError(found.error, language, t)}
        </ErrorState>
      ) : (
        <SkeletonLines lines={4} />
      )}
    </Frame>
  );
}
