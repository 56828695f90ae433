import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { endSession } from '../api/session.ts';
import { showToast } from '../ui/toast.tsx';
import { useApp } from './area.ts';
import { useNavigate } from './link.tsx';

const forgetters = new Set<() => void>();

/** Calls `forget` when the person signs out: for what a page keeps beside the cache of reads. */
export function onSignOut(forget: () => void): void {
  forgetters.add(forget);
}

/** Ends the session on the server and forgets everything that was read with it. */
export function useSignOut(): () => void {
  const { area } = useApp();
  const { t } = useTranslation();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () => {
    void endSession(area).then(
      () => {
        queries.clear();
        for (const forget of forgetters) forget();
        return navigate({ to: '/sign-in' });
      },
      () => showToast({ tone: 'bad', text: t('signOutFailed') }),
    );
  };
}
