import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
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
          <Link to={'/playground' as never} className={buttonClass('primary')}>
            {t('first.playground')}
          </Link>
          <Link to={'/keys' as never} className={buttonClass()}>
            {t('first.keys')}
          </Link>
        </div>
      }
    >
      {t('first.text')}
    </EmptyState>
  );
}
