import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Money as Amount, Figure, FigureRow } from '../../ui/figures.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { RequestsTodayLink, UsageLink } from '../usage-link.tsx';
import type { MoneyToday } from './data.ts';

/** What was billed today on all nodes, and what upstreams charge for it. */
export function Money({ money }: { money: MoneyToday | null }) {
  const { t } = useTranslation('now');
  const format = useFormat();
  if (money === null)
    return (
      <Section title={t('money.title')} note={t('money.note')}>
        <SkeletonLines lines={2} />
      </Section>
    );
  const { broken } = money;
  return (
    <Section title={t('money.title')} note={t('money.note')}>
      <FigureRow>
        <Figure
          isMain
          label={t('money.margin')}
          note={
            <Link to="/prices" className="hover:underline">
              {money.unknown_micro === '0'
                ? t('money.marginNote')
                : t('money.unknown', { amount: format.money(money.unknown_micro, { maxDecimals: 2 }) })}
            </Link>
          }
        >
          <Amount micro={money.margin_micro} maxDecimals={2} />
        </Figure>
        <Figure
          label={t('money.billed')}
          note={<UsageLink view={{ metric: 'cost', by: 'model' }}>{t('byModel')}</UsageLink>}
        >
          <Amount micro={money.billed_micro} maxDecimals={2} />
        </Figure>
        <Figure
          label={t('money.upstream')}
          note={<UsageLink view={{ metric: 'cost', by: 'provider' }}>{t('byProvider')}</UsageLink>}
        >
          <Amount micro={money.upstream_micro} maxDecimals={2} />
        </Figure>
        <Figure
          label={t('money.broken')}
          note={
            <RequestsTodayLink view={{ outcome: 'failed' }}>
              {broken.unknown_count > 0
                ? t('money.brokenUnknown', { count: broken.count, unknown: broken.unknown_count })
                : t('money.brokenCount', { count: broken.count })}
            </RequestsTodayLink>
          }
        >
          <Amount micro={broken.upstream_micro} maxDecimals={2} />
        </Figure>
      </FigureRow>
    </Section>
  );
}
