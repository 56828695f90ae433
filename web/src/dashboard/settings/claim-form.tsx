import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';

/** Makes an owner of a person who came by a link of the account: from then on with address and password. */
export function ClaimForm() {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const claiming = useMutation({
    mutationFn: () => change('POST /dashboard/api/sign-in/claim', { body: { email, password } }),
    onSuccess: async () => {
      showToast({ tone: 'good', text: t('claimed') });
      await queries.resetQueries();
    },
  });
  return (
    <form
      className="flex max-w-110 flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!claiming.isPending) claiming.mutate();
      }}
    >
      <p className="text-sm text-muted">{t('claimText')}</p>
      <Field label={t('email')}>
        <Input
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={({ target }) => setEmail(target.value)}
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
      {claiming.isError ? <Banner tone="bad">{wordsOfError(claiming.error, language, t)}</Banner> : null}
      <div>
        <Button type="submit" variant="primary" isBusy={claiming.isPending}>
          {t('claim')}
        </Button>
      </div>
    </form>
  );
}
