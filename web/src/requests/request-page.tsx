import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { Page } from '../app/page.tsx';
import { ReadError } from '../app/read-error.tsx';
import { EmptyState, SkeletonLines } from '../ui/states.tsx';
import type { Detail } from './detail.ts';

/** The page of one request while its record loads, and when there is none. */
export function RequestPage({
  request,
  back,
  children,
}: {
  request: UseQueryResult<Detail>;
  back: ReactNode;
  children: (detail: Detail) => ReactNode;
}) {
  const { t } = useTranslation('request');
  if (request.data !== undefined) return <>{children(request.data)}</>;
  return (
    <Page title={t('title')} back={back}>
      {request.error instanceof ApiError && request.error.status === 404 ? (
        <EmptyState title={t('missing.title')}>{t('missing.text')}</EmptyState>
      ) : request.isError ? (
        <ReadError of={request} />
      ) : (
        <SkeletonLines lines={8} />
      )}
    </Page>
  );
}
