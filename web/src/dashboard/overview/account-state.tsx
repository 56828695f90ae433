import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Banner } from '../../ui/states.tsx';

export type Account = ResponseOf<'GET /dashboard/api/account'>;

/** Below this balance the page warns, whatever the account spends. */
const lowMicro = 1_000_000_000n;

/** One line about the whole account, when there is something to do: suspended, negative or low. */
export function AccountState({ account }: { account: Account }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const balance = parseMicro(account.balance_micro);
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
  if (balance < lowMicro)
    return (
      <Banner tone="warn" action={topUp}>
        {t('state.low', figures)}
      </Banner>
    );
  return null;
}
