import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/states.tsx';

/** What the owner of an account that has used nothing can do first. */
export function FirstSteps() {
  const { t } = useTranslation('overview');
  return (
    <EmptyState
      icon="play"
      title={t('first.title')}
      action={
        <div className="flex flex-wrap justify-center gap-2">
          <Link to="/playground" className={buttonClass('primary')}>
            {t('first.playground')}
          </Link>
          <Link to="/keys" className={buttonClass()}>
            {t('first.keys')}
          </Link>
        </div>
      }
    >
      {t('first.text')}
    </EmptyState>
  );
}
