import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { change } from '../api/client.ts';
import { wordsOfError } from '../api/errors.ts';
import { useApp } from '../app/area.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { Button } from '../ui/button.tsx';
import { FormError } from './frame.tsx';
import { hasPasskeys, type SignedIn, signInByPasskey } from './passkey.ts';

export interface ExternalWaysProps {
  /** What the server offers at this address; undefined: not read yet. */
  readonly ways: { readonly passkey: boolean; readonly oidc: boolean } | undefined;
  /** Null: the person closed the dialog of the browser. */
  readonly onOutcome: (outcome: SignedIn | null) => void;
}

/** Sign-in by a passkey and at the OpenID provider, where there is such a way. */
export function ExternalWays({ ways, onOutcome }: ExternalWaysProps) {
  return (
    <>
      {ways?.passkey === true && hasPasskeys() ? <PasskeyButton onOutcome={onOutcome} /> : null}
      {ways?.oidc === true ? <ProviderButton /> : null}
    </>
  );
}

function PasskeyButton({ onOutcome }: { onOutcome: (outcome: SignedIn | null) => void }) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const { area } = useApp();
  const attempt = useMutation({ mutationFn: () => signInByPasskey(area), onSuccess: onOutcome });
  return (
    <>
      <Button icon="shield" isBusy={attempt.isPending} onClick={() => attempt.mutate()}>
        {t('byPasskey')}
      </Button>
      <FormError>{attempt.error === null ? null : wordsOfError(attempt.error, language, t)}</FormError>
    </>
  );
}

function ProviderButton() {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const { area } = useApp();
  const begin = useMutation({
    mutationFn: () => change(`POST /${area}/api/sign-in/oidc` as const, {}),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  return (
    <>
      <Button icon="external" isBusy={begin.isPending} onClick={() => begin.mutate()}>
        {t('byProvider')}
      </Button>
      <FormError>{begin.error === null ? null : wordsOfError(begin.error, language, t)}</FormError>
    </>
  );
}
