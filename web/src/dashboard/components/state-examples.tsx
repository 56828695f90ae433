import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import {
  Banner,
  EmptyState,
  ErrorState,
  NoPermissionState,
  SkeletonLines,
  StaleNote,
} from '../../ui/states.tsx';

const openedMs = Date.now();

/** Everything that can go wrong, in words. */
export function StateExamples() {
  const { t } = useTranslation('components');
  return (
    <div className="flex flex-col gap-4">
      <Banner tone="bad" action={<Button size="sm">{t('topUp')}</Button>}>
        {t('bannerSuspended')}
      </Banner>
      <Banner tone="warn">{t('bannerLow')}</Banner>
      <Banner tone="accent">{t('bannerInfo')}</Banner>
      <div className="flex flex-wrap gap-4">
        <StaleNote updatedMs={openedMs - 30_000} onRefresh={() => {}} />
        <StaleNote updatedMs={openedMs - 90_000} isFailing onRefresh={() => {}} />
      </div>
      <div className="grid gap-4 md:grid-cols-3">
        <EmptyState
          title={t('emptyTitle')}
          action={
            <Button variant="primary" icon="plus">
              {t('createKey')}
            </Button>
          }
        >
          {t('emptyText')}
        </EmptyState>
        <ErrorState onRetry={() => {}} requestId="req-7f3a9c" />
        <NoPermissionState />
      </div>
      <SkeletonLines />
    </div>
  );
}
