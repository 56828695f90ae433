import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useApp } from '../app/area.ts';

/**
 * What follows a sign-in: forgets what was read before, and opens the page that asked for it, else the
 * first one. Only an address of this application is followed.
 */
export function useSignedIn(): (next: string) => Promise<void> {
  const { area } = useApp();
  const router = useRouter();
  const queries = useQueryClient();
  return async (next) => {
    queries.clear();
    const isOurs = next.startsWith(`/${area}/`) && !next.startsWith(`/${area}//`);
    router.history.replace(isOurs ? next : `/${area}/`);
    await router.invalidate();
  };
}
