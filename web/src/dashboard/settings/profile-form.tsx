import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Properties, Time } from '../../ui/figures.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type Profile, refreshProfile } from './profile.ts';

/** Who the owner is: the address that it signs in with, and a name that it may change. */
export function ProfileForm({ profile, accountName }: { profile: Profile; accountName: string }) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const queries = useQueryClient();
  const [name, setName] = useState(profile.name ?? '');
  const saving = useMutation({
    mutationFn: () =>
      change('PATCH /dashboard/api/profile', { body: { name: name.trim() === '' ? null : name.trim() } }),
    onSuccess: (saved) => {
      refreshProfile(queries, saved);
      showToast({ tone: 'good', text: t('saved') });
    },
  });
  return (
    <form
      className="flex max-w-110 flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!saving.isPending) saving.mutate();
      }}
    >
      <Properties
        rows={[
          { name: t('account'), value: accountName },
          {
            name: t('email'),
            value: (
              <span className="inline-flex flex-wrap items-center gap-2">
                {profile.email}
                {profile.email_verified ? null : <Badge tone="warn">{t('unverified')}</Badge>}
              </span>
            ),
          },
          { name: t('since'), value: <Time at={profile.created_at} /> },
        ]}
      />
      <Field label={t('name')} optionalText={t('common:optional')} hint={t('nameHint')}>
        <Input
          value={name}
          maxLength={200}
          autoComplete="name"
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      {saving.isError ? <Banner tone="bad">{wordsOfError(saving.error, language, t)}</Banner> : null}
      <div>
        <Button type="submit" isBusy={saving.isPending} disabled={name.trim() === (profile.name ?? '')}>
          {t('common:save')}
        </Button>
      </div>
    </form>
  );
}
