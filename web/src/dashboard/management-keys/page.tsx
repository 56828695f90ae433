import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { Banner } from '../../ui/states.tsx';
import { KeyList } from '../keys/key-list.tsx';

/** U6: the keys that manage keys, and cannot call models. */
export function Page() {
  const { t } = useTranslation('keys');
  return (
    <Frame title={t('title.management')}>
      <Banner tone="warn">{t('managementWarning')}</Banner>
      <KeyList kind="management" />
    </Frame>
  );
}
