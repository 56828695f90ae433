import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection.ts';
import { readSession } from '../api/session.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useApp } from './area.ts';

/**
 * The session ended while a page was open: signing in happens in another window, so that what was typed
 * here stays.
 */
export function SessionEnded() {
  const { t } = useTranslation();
  const { area } = useApp();
  const { hasSessionEnded } = useConnection();
  const queries = useQueryClient();
  const [isChecking, setIsChecking] = useState(false);
  const [isMissing, setIsMissing] = useState(false);
  const check = async (): Promise<void> => {
    setIsChecking(true);
    const session = await readSession(area).catch(() => null);
    setIsChecking(false);
    setIsMissing(session === null);
    if (session === null) return;
    await queries.invalidateQueries();
  };
  return (
    <Dialog
      isOpen={hasSessionEnded}
      onOpenChange={() => {}}
      isLocked
      size="sm"
      title={t('sessionEnded.title')}
      description={t('sessionEnded.text')}
      footer={
        <>
          <Button onClick={() => void check()} isBusy={isChecking}>
            {t('sessionEnded.continue')}
          </Button>
          <a
            href={`/${area}/sign-in?window=1`}
            target="_blank"
            rel="noopener"
            className={buttonClass('primary')}
          >
            {t('sessionEnded.signIn')}
          </a>
        </>
      }
    >
      {isMissing ? (
        <p role="alert" className="text-sm text-bad">
          {t('sessionEnded.missing')}
        </p>
      ) : null}
    </Dialog>
  );
}
