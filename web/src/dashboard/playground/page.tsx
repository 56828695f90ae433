import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { sessionQuery } from '../../api/session.ts';
import { Page as Frame } from '../../app/page.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { EmptyState, ErrorState, SkeletonLines } from '../../ui/states.tsx';
import { Conversation } from './conversation-view.tsx';
import { playgroundOf } from './playground.ts';

/** U11: talks to a model as any client does, and shows what it costs. */
export function Page() {
  const { t } = useTranslation('playground');
  const language = useLanguage();
  const session = useQuery(sessionQuery('dashboard'));
  const models = useQuery({ ...readQuery('GET /dashboard/api/models', {}), refetchInterval: 15_000 });
  const owner = session.data?.kind === 'owner' ? session.data : null;
  if (owner !== null && models.data !== undefined && models.data.items.length > 0)
    return <Conversation playground={playgroundOf(owner.account_id)} models={models.data.items} />;
  return (
    <Frame title={t('title')}>
      {models.data?.items.length === 0 ? (
        <EmptyState icon="model" title={t('noModels')}>
          {t('noModelsText')}
        </EmptyState>
      ) : models.isError ? (
        <ErrorState onRetry={() => void models.refetch()} isRetrying={models.isFetching}>
          {wordsOfError(models.error, language, t)}
        </ErrorState>
      ) : (
        <SkeletonLines lines={6} />
      )}
    </Frame>
  );
}
