import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../api/errors.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState, ErrorState } from '../ui/states.tsx';
import { Link } from './link.tsx';
import { Page } from './page.tsx';

/** No page has this address. */
export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <Page title={t('notFound.title')}>
      <EmptyState
        icon="search"
        title={t('notFound.text')}
        action={
          <Link to="/" className={buttonClass()}>
            {t('notFound.home')}
          </Link>
        }
      />
    </Page>
  );
}

/** The code of a page failed or could not be loaded. The rest of the application still works. */
export function PageFailed({ error }: ErrorComponentProps) {
  const { t } = useTranslation();
  const language = useLanguage();
  const router = useRouter();
  return (
    <Page title={t('error.title')}>
      <ErrorState onRetry={() => void router.invalidate()}>{wordsOfError(error, language, t)}</ErrorState>
    </Page>
  );
}
