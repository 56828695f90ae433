import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../api/client.ts';
import { wordsOfError } from '../api/errors.ts';
import { Link } from '../app/link.tsx';
import { useLanguage } from '../i18n/use-format.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { ErrorState } from '../ui/states.tsx';
import { SignInFrame } from './frame.tsx';
import { useSignedIn } from './use-signed-in.ts';

export interface OperatorLinkProps {
  readonly token: string;
  readonly next: string;
  /** The page was opened beside one whose session ended. */
  readonly isBeside: boolean;
}

/** Uses the one-time link of an operator when they ask for it: opening its address alone does not. */
export function OperatorLink({ token, next, isBeside }: OperatorLinkProps) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const signedIn = useSignedIn();
  const [isDone, setIsDone] = useState(false);
  const open = useMutation({
    mutationFn: () => change('POST /console/api/sign-in/link', { body: { token } }),
    onSuccess: () => (isBeside ? setIsDone(true) : signedIn(next)),
  });
  if (isDone)
    return (
      <SignInFrame title={t('done')}>
        <p>{t('doneText')}</p>
      </SignInFrame>
    );
  if (token === '' || open.isError)
    return (
      <SignInFrame title={t('linkTitle')}>
        <ErrorState title={t('linkFailed')}>
          {open.isError ? wordsOfError(open.error, language, t) : t('linkMissing')}
          <Link to="/sign-in" className={`${buttonClass()} mt-3`} onClick={() => open.reset()}>
            {t('otherWays')}
          </Link>
        </ErrorState>
      </SignInFrame>
    );
  return (
    <SignInFrame title={t('purpose.console')}>
      <p>{t('consoleLinkText')}</p>
      <Button variant="primary" isBusy={open.isPending} onClick={() => open.mutate()}>
        {t('openConsole')}
      </Button>
    </SignInFrame>
  );
}
