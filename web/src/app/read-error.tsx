import type { UseQueryResult } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ApiError, wordsOfError } from '../api/errors.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { ErrorState } from '../ui/states.tsx';

export interface ReadErrorProps {
  /** The read that failed. */
  readonly of: Pick<UseQueryResult, 'error' | 'refetch' | 'isFetching'>;
}

/** In place of what could not be read: why, the id of the request, and a way to read it again. */
export function ReadError({ of }: ReadErrorProps) {
  const { t } = useTranslation();
  const language = useLanguage();
  const requestId = of.error instanceof ApiError ? of.error.requestId : null;
  return (
    <ErrorState onRetry={() => void of.refetch()} isRetrying={of.isFetching} requestId={requestId}>
      {wordsOfError(of.error, language, t)}
    </ErrorState>
  );
}
