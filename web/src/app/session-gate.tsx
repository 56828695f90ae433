import { useQuery } from '@tanstack/react-query';
import { Navigate, Outlet, useLocation } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../api/errors.ts';
import { sessionQuery } from '../api/session.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { Loading } from '../ui/button.tsx';
import { ErrorState } from '../ui/states.tsx';
import { useApp } from './area.ts';

/** The pages below it need a session: without one they lead to the sign-in, and from there back. */
export function SessionGate() {
  const { t } = useTranslation();
  const language = useLanguage();
  const { area } = useApp();
  const location = useLocation();
  const session = useQuery(sessionQuery(area));
  if (session.data === null)
    return <Navigate to="/sign-in" search={{ next: location.href } as never} replace />;
  if (session.data !== undefined) return <Outlet />;
  return (
    <div className="mx-auto max-w-290 px-4 py-6 lg:px-8">
      {session.isError ? (
        <ErrorState onRetry={() => void session.refetch()} isRetrying={session.isFetching}>
          {wordsOfError(session.error, language, t)}
        </ErrorState>
      ) : (
        <Loading />
      )}
    </div>
  );
}
