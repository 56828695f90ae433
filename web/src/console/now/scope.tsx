import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Banner } from '../../ui/states.tsx';
import type { Now } from './page.tsx';

/** Which processes the live figures are of, and what needs an operator. */
export function Scope({ now }: { now: Now }) {
  const { t } = useTranslation('now');
  const nodes = useQuery(readQuery('GET /console/api/nodes', {}));
  const live = nodes.data?.items.filter(({ is_live: isLive }) => isLive).length ?? now.processes.responding;
  const others = live - now.processes.responding;
  const { responding, expected } = now.processes;
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm text-muted">
        {t('scope.own', { count: responding })}
        {others > 0 ? ` ${t('scope.others', { count: others })}` : ''}
      </p>
      {responding < expected ? (
        <Banner tone="warn">{t('scope.missing', { count: expected - responding })}</Banner>
      ) : null}
      {now.quarantined > 0 ? (
        <Banner
          tone="bad"
          action={
            <Link to={'/quarantine' as never} className="font-medium underline">
              {t('decide')}
            </Link>
          }
        >
          {t('quarantined', { count: now.quarantined })}
        </Banner>
      ) : null}
      {now.lost_nodes > 0 ? <Banner tone="bad">{t('lostNodes', { count: now.lost_nodes })}</Banner> : null}
    </div>
  );
}
