import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Banner } from '../../ui/states.tsx';
import { alertsQuery } from '../credits/alerts.ts';
import { daysLeftOf } from './days-left.ts';

export type Account = ResponseOf<'GET /dashboard/api/account'>;

/**
 * One line about the whole account, when there is something to do: suspended, negative, or below what
 * its owner wants to be warned of.
 */
export function AccountState({ account }: { account: Account }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const balance = parseMicro(account.balance_micro);
  const alerts = useQuery(alertsQuery).data;
  const week = useQuery(readQuery('GET /dashboard/api/usage/totals', { query: { range: '7d' } })).data;
  const daysLeft = week === undefined ? null : daysLeftOf(account.balance_micro, week.sums.cost_micro);
  const topUp = (
    <Link to="/credits" className={buttonClass('secondary', 'sm')}>
      {t('topUp')}
    </Link>
  );
  const figures = {
    balance: format.money(account.balance_micro),
    floor: format.money(account.floor_micro),
  };
  if (account.standing === 'suspended_by_admin')
    return <Banner tone="bad">{t('state.suspendedByAdmin')}</Banner>;
  if (balance < 0n)
    return (
      <Banner tone="bad" action={topUp}>
        {t('state.negative', figures)}
      </Banner>
    );
  if (account.standing === 'suspended_no_credit')
    return (
      <Banner tone="bad" action={topUp}>
        {t('state.suspended', figures)}
      </Banner>
    );
  const lowBalance = alerts?.low_balance_micro ?? null;
  if (lowBalance !== null && balance < parseMicro(lowBalance))
    return (
      <Banner tone="warn" action={topUp}>
        {t('state.low', figures)}
      </Banner>
    );
  const minDays = alerts?.min_days_left ?? null;
  if (minDays !== null && daysLeft !== null && daysLeft < BigInt(minDays))
    return (
      <Banner tone="warn" action={topUp}>
        {t('state.daysLeft', { days: format.count(daysLeft) })}
      </Banner>
    );
  return null;
}
