import { useQuery } from '@tanstack/react-query';
import { Outlet, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { sessionQuery } from '../api/session.ts';
import { Loading } from '../ui/button.tsx';
import { useApp } from './area.ts';
import { ReadError } from './read-error.tsx';

/** The pages below it need a session: without one they lead to the sign-in, and from there back. */
export function SessionGate() {
  const { area } = useApp();
  const router = useRouter();
  const session = useQuery(sessionQuery(area));
  const isSignedOut = session.data === null;
  // Once: the address changes while the sign-in still loads.
  useEffect(() => {
    if (!isSignedOut) return;
    const next = router.state.location.publicHref;
    void router.navigate({ to: '/sign-in', search: { next }, replace: true });
  }, [isSignedOut, router]);
  if (session.data !== undefined && session.data !== null) return <Outlet />;
  return (
    <div className="mx-auto max-w-290 px-4 py-6 lg:px-8">
      {session.isError ? <ReadError of={session} /> : <Loading />}
    </div>
  );
}
