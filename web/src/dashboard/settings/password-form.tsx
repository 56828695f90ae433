import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { useConfirmed } from '../../settings/confirmed.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type Profile, refreshProfile } from './profile.ts';

/** A new password. Every other session of the owner ends with it. */
export function PasswordForm({ profile }: { profile: Profile }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const setting = useConfirmed({
    hasPassword: profile.has_password,
    run: (next: string, confirmation) =>
      change('PUT /dashboard/api/password', { body: { ...confirmation, password: next } }),
    onSuccess: () => {
      setPassword('');
      showToast({ tone: 'good', text: t('passwordSet') });
      refreshProfile(queries);
      void queries.invalidateQueries({ queryKey: ['GET /dashboard/api/sessions'] });
    },
  });
  return (
    <form
      className="flex max-w-110 flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!setting.isPending && password !== '') setting.start(password);
      }}
    >
      <Field label={t('newPassword')} hint={t('passwordHint')} error={setting.error}>
        <Input
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={({ target }) => {
            setPassword(target.value);
            if (setting.error !== null) setting.reset();
          }}
        />
      </Field>
      <div>
        <Button type="submit" isBusy={setting.isPending} disabled={password === ''}>
          {t(profile.has_password ? 'changePassword' : 'setPassword')}
        </Button>
      </div>
      {setting.dialog}
    </form>
  );
}
