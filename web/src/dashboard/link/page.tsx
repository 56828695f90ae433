import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { Link } from '../../app/link.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { FormError, SignInFrame } from '../../sign-in/frame.tsx';
import { takeToken } from '../../sign-in/link-token.ts';
import { useSignedIn } from '../../sign-in/use-signed-in.ts';
import { Button, buttonClass, Loading } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { ErrorState } from '../../ui/states.tsx';

/** A one-time link: signs in, or lets its owner set a password. Looking at it does not use it up. */
function LinkPage() {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const [token] = useState(takeToken);
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => change('POST /dashboard/api/sign-in/link/read', { body: { token } }),
    enabled: token !== '',
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (token === '' || link.isError)
    return (
      <SignInFrame title={t('linkTitle')}>
        <ErrorState title={t('linkFailed')}>
          {link.isError ? wordsOfError(link.error, language, t) : t('linkMissing')}
          <Link to="/sign-in" className={`${buttonClass()} mt-3`}>
            {t('otherWays')}
          </Link>
        </ErrorState>
      </SignInFrame>
    );
  if (link.data === undefined)
    return (
      <SignInFrame title={t('linkTitle')}>
        <Loading />
      </SignInFrame>
    );
  const { purpose, email } = link.data;
  return (
    <SignInFrame title={t(`purpose.${purpose}`)}>
      {purpose === 'account' ? (
        <OpenAccount token={token} />
      ) : (
        <PasswordForm token={token} email={email} isNew={purpose === 'invitation'} />
      )}
    </SignInFrame>
  );
}

function OpenAccount({ token }: { token: string }) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const signedIn = useSignedIn();
  const open = useMutation({
    mutationFn: () => change('POST /dashboard/api/sign-in/link', { body: { token } }),
    onSuccess: () => signedIn(''),
  });
  return (
    <>
      <p>{t('accountText')}</p>
      <FormError>{open.error === null ? null : wordsOfError(open.error, language, t)}</FormError>
      <Button variant="primary" isBusy={open.isPending} onClick={() => open.mutate()}>
        {t('openDashboard')}
      </Button>
    </>
  );
}

function PasswordForm({ token, email, isNew }: { token: string; email: string | null; isNew: boolean }) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const signedIn = useSignedIn();
  const [address, setAddress] = useState(email ?? '');
  const [password, setPassword] = useState('');
  const redeem = useMutation({
    mutationFn: () =>
      change('POST /dashboard/api/sign-in/link/redeem', {
        body: { token, password, ...(isNew ? { email: address } : {}) },
      }),
    onSuccess: () => signedIn(''),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!redeem.isPending) redeem.mutate();
      }}
    >
      <Field label={t('email')}>
        <Input
          type="email"
          autoComplete="username"
          required={isNew}
          readOnly={email !== null}
          value={address}
          onChange={({ target }) => setAddress(target.value)}
        />
      </Field>
      <Field label={t('newPassword')} hint={t('passwordHint')}>
        <Input
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </Field>
      <FormError>{redeem.error === null ? null : wordsOfError(redeem.error, language, t)}</FormError>
      <Button type="submit" variant="primary" isBusy={redeem.isPending}>
        {t('setPassword')}
      </Button>
    </form>
  );
}

export { LinkPage as Page };
