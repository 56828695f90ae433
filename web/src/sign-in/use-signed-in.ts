import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { read } from '../api/client.ts';
import { useApp } from '../app/area.ts';
import { setTheme } from '../app/theme.ts';
import { changeLanguage } from '../i18n/i18n.ts';

/** Shows the pages as the owner chose it, on another machine too. What goes wrong here changes nothing. */
async function applyPreferences(): Promise<void> {
  const { email } = await read('GET /dashboard/api/session', {});
  if (email === null) return;
  const { language, theme } = await read('GET /dashboard/api/profile', {});
  if (theme !== null) setTheme(theme);
  if (language !== null) await changeLanguage(language);
}

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
    if (area === 'dashboard') void applyPreferences().catch(() => undefined);
    const isOurs = next.startsWith(`/${area}/`) && !next.startsWith(`/${area}//`);
    router.history.replace(isOurs ? next : `/${area}/`);
    await router.invalidate();
  };
}
