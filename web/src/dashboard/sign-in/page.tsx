import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { useApp } from '../../app/area.ts';
import { Link } from '../../app/link.tsx';
import { flag, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { ExternalWays } from '../../sign-in/external-ways.tsx';
import { FormError, SignInFrame } from '../../sign-in/frame.tsx';
import { useSignedIn } from '../../sign-in/use-signed-in.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { KeyForm } from './key-form.tsx';

type Outcome = ResponseOf<'POST /dashboard/api/sign-in/password'>;

const schema: SearchSchema<{ next: string; window: boolean; refused: string }> = {
  /** Where the person wanted to go. */
  next: text(),
  /** The page was opened beside one whose session ended. */
  window: flag(),
  /** Why the OpenID provider's sign-in failed. */
  refused: text(),
};

/** The ways into the dashboard. */
function SignInPage() {
  const { t } = useTranslation('sign-in');
  const [{ next, window: isBeside, refused }] = useSearchParams(schema);
  const [step, setStep] = useState<string | null>(null);
  const [isDone, setIsDone] = useState(false);
  const signedIn = useSignedIn();
  const finish = (outcome: Outcome | null): void => {
    if (outcome === null) return;
    if (outcome.state === 'code_required') setStep(outcome.step);
    else if (isBeside) setIsDone(true);
    else void signedIn(next);
  };
  if (isDone)
    return (
      <SignInFrame title={t('done')}>
        <p>{t('doneText')}</p>
      </SignInFrame>
    );
  return (
    <SignInFrame title={step === null ? t('title') : t('codeTitle')}>
      {refused === '' ? null : <Banner tone="bad">{t([`refused.${refused}`, 'refused.failed'])}</Banner>}
      {step === null ? (
        <Ways onOutcome={finish} />
      ) : (
        <CodeForm step={step} onOutcome={finish} onBack={() => setStep(null)} />
      )}
      {step === null && !isBeside ? <PublicPages /> : null}
    </SignInFrame>
  );
}

/** What there is to see without an account. */
function PublicPages() {
  const { t } = useTranslation(['sign-in', 'navigation']);
  const { pages } = useApp();
  return (
    <nav aria-label={t('lookAround')} className="border-t pt-4 text-sm">
      <p className="pb-1 text-xs text-muted">{t('lookAround')}</p>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {pages.map(({ path, access, nav }) =>
          access !== 'public' || nav === undefined ? null : (
            <li key={path}>
              <Link to={path} className="underline">
                {t(`navigation:${nav.label}`)}
              </Link>
            </li>
          ),
        )}
      </ul>
    </nav>
  );
}

function Ways({ onOutcome }: { onOutcome: (outcome: Outcome | null) => void }) {
  const { t } = useTranslation('sign-in');
  const ways = useQuery(readQuery('GET /dashboard/api/sign-in', {})).data;
  const [isByKey, setIsByKey] = useState(false);
  if (isByKey) return <KeyForm onOutcome={onOutcome} onBack={() => setIsByKey(false)} />;
  return (
    <>
      <PasswordForm onOutcome={onOutcome} />
      <div className="flex flex-col gap-2 border-t pt-5">
        <ExternalWays ways={ways} onOutcome={onOutcome} />
        <Button icon="key" onClick={() => setIsByKey(true)}>
          {t('byKey')}
        </Button>
      </div>
      <p className="text-sm text-muted">{t('noAccess')}</p>
    </>
  );
}

function PasswordForm({ onOutcome }: { onOutcome: (outcome: Outcome) => void }) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const attempt = useMutation({
    mutationFn: () => change('POST /dashboard/api/sign-in/password', { body: { email, password } }),
    onSuccess: onOutcome,
    onError: () => setPassword(''),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!attempt.isPending) attempt.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label={t('email')}>
        <Input
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={({ target }) => setEmail(target.value)}
        />
      </Field>
      <Field label={t('password')}>
        <Input
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </Field>
      <FormError>{attempt.error === null ? null : wordsOfError(attempt.error, language, t)}</FormError>
      <Button type="submit" variant="primary" isBusy={attempt.isPending}>
        {t('signIn')}
      </Button>
    </form>
  );
}

function CodeForm(props: { step: string; onOutcome: (outcome: Outcome) => void; onBack: () => void }) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const [code, setCode] = useState('');
  const attempt = useMutation({
    mutationFn: () =>
      change('POST /dashboard/api/sign-in/code', { body: { step: props.step, code: code.trim() } }),
    onSuccess: props.onOutcome,
    onError: () => setCode(''),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!attempt.isPending) attempt.mutate();
      }}
    >
      <Field label={t('code')} hint={t('codeHint')}>
        <Input
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          value={code}
          onChange={({ target }) => setCode(target.value)}
        />
      </Field>
      <FormError>{attempt.error === null ? null : wordsOfError(attempt.error, language, t)}</FormError>
      <Button type="submit" variant="primary" isBusy={attempt.isPending}>
        {t('signIn')}
      </Button>
      <Button variant="quiet" onClick={props.onBack}>
        {t('common:back')}
      </Button>
    </form>
  );
}

export { SignInPage as Page };
