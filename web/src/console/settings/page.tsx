import { useTranslation } from 'react-i18next';
import { Page as Frame, Section } from '../../app/page.tsx';
import { MessageSections } from '../../settings/messages.tsx';
import { Passkeys } from '../../settings/passkeys.tsx';
import { EndOthers, Sessions } from '../../settings/sessions.tsx';

/** The ways in of an operator, the open sessions, and messages. */
export function Page() {
  const { t } = useTranslation('settings');
  return (
    <Frame title={t('title')}>
      <Section title={t('passkeys')} note={t('passkeysNote')}>
        <Passkeys hasPassword={false} />
      </Section>
      <Section title={t('sessions')} actions={<EndOthers />}>
        <Sessions />
      </Section>
      <MessageSections />
    </Frame>
  );
}
