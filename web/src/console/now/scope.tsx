import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Banner } from '../../ui/states.tsx';
import { Covered } from './covered.tsx';
import type { Now } from './data.ts';

/** Which processes the live figures are of, and what needs an operator. */
export function Scope({ now }: { now: Now }) {
  const { t } = useTranslation('now');
  return (
    <div className="flex flex-col gap-2">
      <Covered processes={now.processes} />
      {now.quarantined > 0 ? (
        <Banner
          tone="bad"
          action={
            <Link to="/quarantine" className="font-medium underline">
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
