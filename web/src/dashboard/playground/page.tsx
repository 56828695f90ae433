import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { sessionQuery } from '../../api/session.ts';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { EmptyState, SkeletonLines } from '../../ui/states.tsx';
import { Conversation } from './conversation-view.tsx';
import { playgroundOf } from './playground.ts';

/** U11: talks to a model as any client does, and shows what it costs. */
export function Page() {
  const { t } = useTranslation('playground');
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
        <ReadError of={models} />
      ) : (
        <SkeletonLines lines={6} />
      )}
    </Frame>
  );
}
