import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { FormError } from '../../sign-in/frame.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';

export interface KeyFormProps {
  readonly onOutcome: (outcome: ResponseOf<'POST /dashboard/api/sign-in/key'>) => void;
  readonly onBack: () => void;
}

/** Signing in by pasting a management key: a session of the account for up to 12 hours. */
export function KeyForm({ onOutcome, onBack }: KeyFormProps) {
  const { t } = useTranslation('sign-in');
  const language = useLanguage();
  const [key, setKey] = useState('');
  const attempt = useMutation({
    mutationFn: () => change('POST /dashboard/api/sign-in/key', { body: { key } }),
    onSuccess: onOutcome,
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!attempt.isPending) attempt.mutate();
      }}
    >
      <Field label={t('managementKey')} hint={t('keyHint')}>
        <Input
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          value={key}
          onChange={({ target }) => setKey(target.value)}
          className="font-mono"
        />
      </Field>
      <FormError>{attempt.error === null ? null : wordsOfError(attempt.error, language, t)}</FormError>
      <Button type="submit" variant="primary" isBusy={attempt.isPending}>
        {t('signIn')}
      </Button>
      <Button variant="quiet" onClick={onBack}>
        {t('common:back')}
      </Button>
    </form>
  );
}
