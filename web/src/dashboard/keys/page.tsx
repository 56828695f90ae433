import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { KeyList } from './key-list.tsx';

/** U5: the keys that call models. */
export function Page() {
  const { t } = useTranslation('keys');
  return (
    <Frame title={t('title.inference')}>
      <KeyList kind="inference" />
    </Frame>
  );
}
