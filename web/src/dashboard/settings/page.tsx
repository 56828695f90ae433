import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sessionQuery } from '../../api/session.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { MessageSections } from '../../settings/messages.tsx';
import { Passkeys } from '../../settings/passkeys.tsx';
import { EndOthers, Sessions } from '../../settings/sessions.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { AlertForm } from '../credits/alert-form.tsx';
import { ClaimForm } from './claim-form.tsx';
import { Display } from './display.tsx';
import { PasswordForm } from './password-form.tsx';
import { PersonalData } from './personal-data.tsx';
import { profileQuery } from './profile.ts';
import { ProfileForm } from './profile-form.tsx';
import { Totp } from './totp.tsx';

/** U12: the person, the ways to sign in, the open sessions, and how the pages look. */
export function Page() {
  const { t } = useTranslation('settings');
  const session = useQuery(sessionQuery('dashboard'));
  const owner = session.data?.kind === 'owner' ? session.data : null;
  if (owner === null)
    return (
      <Frame title={t('title')}>
        <SkeletonLines lines={6} />
      </Frame>
    );
  const hasOwner = owner.email !== null;
  return (
    <Frame title={t('title')}>
      {hasOwner ? (
        <OwnerSections accountName={owner.name} />
      ) : (
        <Section title={t('profile')}>
          {owner.via === 'link' ? <ClaimForm /> : <p className="text-sm text-muted">{t('keySession')}</p>}
        </Section>
      )}
      <Section title={t('sessions')} note={t('sessionsNote')} actions={<EndOthers />}>
        <Sessions />
      </Section>
      <Section title={t('display')}>
        <Display hasOwner={hasOwner} />
      </Section>
      <Section title={t('notifications')} note={t('notificationsNote')}>
        <AlertForm />
      </Section>
      <MessageSections />
      {hasOwner ? <DataSection /> : null}
    </Frame>
  );
}

function OwnerSections({ accountName }: { accountName: string }) {
  const { t } = useTranslation('settings');
  const profile = useQuery(profileQuery);
  if (profile.data === undefined)
    return profile.isError ? <ReadError of={profile} /> : <SkeletonLines lines={6} />;
  return (
    <>
      <Section title={t('profile')}>
        <ProfileForm profile={profile.data} accountName={accountName} />
      </Section>
      <Section title={t('password')}>
        <PasswordForm profile={profile.data} />
      </Section>
      <Section title={t('passkeys')} note={t('passkeysNote')}>
        <Passkeys hasPassword={profile.data.has_password} />
      </Section>
      <Section title={t('totp')}>
        <Totp profile={profile.data} />
      </Section>
    </>
  );
}

function DataSection() {
  const { t } = useTranslation('settings');
  const profile = useQuery(profileQuery);
  return profile.data === undefined ? null : (
    <Section title={t('data')}>
      <PersonalData profile={profile.data} />
    </Section>
  );
}
