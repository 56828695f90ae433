import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useRange } from '../../app/search-params.ts';
import { BalanceChart } from '../../credits/balance-chart.tsx';
import { Lots } from '../../credits/lots.tsx';
import { UsageParts } from '../../credits/usage-parts.tsx';
import { Figure, FigureRow, Money } from '../../ui/figures.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { AccountState } from '../overview/account-state.tsx';
import { AlertForm } from './alert-form.tsx';
import { Payments } from './payments.tsx';
import { TopUpForm } from './top-up-form.tsx';
import { TopUps } from './top-ups.tsx';
import { Transfer } from './transfer.tsx';

/** U7: the balance and its parts, and asking for more. */
export function Page() {
  const { t } = useTranslation('credits');
  const [range, setRange] = useRange();
  const account = useQuery({ ...readQuery('GET /dashboard/api/account', {}), refetchInterval: 15_000 });
  return (
    <Frame title={t('title')} aside={<QueryAge of={account} />}>
      {account.data === undefined ? (
        account.isError ? (
          <ReadError of={account} />
        ) : (
          <SkeletonLines lines={3} />
        )
      ) : (
        <>
          <AccountState account={account.data} />
          <FigureRow>
            <Figure isMain label={t('balance')} note={t('balanceNote')}>
              <Money micro={account.data.balance_micro} />
            </Figure>
            <Figure label={t('credits')}>
              <Money micro={account.data.total_credits_micro} />
            </Figure>
            <Figure
              label={t('used')}
              note={
                <>
                  <UsageParts usage={account.data} />{' '}
                  <Link to="/transactions" className="hover:underline">
                    {t('toTransactions')}
                  </Link>
                  {' · '}
                  <Link to="/statement" className="hover:underline">
                    {t('toStatement')}
                  </Link>
                </>
              }
            >
              <Money micro={account.data.total_usage_micro} />
            </Figure>
            <Figure label={t('floor')} note={t('floorNote')}>
              <Money micro={account.data.floor_micro} />
            </Figure>
          </FigureRow>
        </>
      )}
      <Section title={t('lots')} note={t('lotsNote')}>
        <Lots />
      </Section>
      <Section title={t('history')} actions={<RangePicker value={range} onChange={setRange} />}>
        <BalanceChart />
      </Section>
      {(account.data?.payment_amounts_micro.length ?? 0) === 0 ? null : (
        <Section title={t('pay')} note={t('payNote')}>
          <Payments amounts={account.data?.payment_amounts_micro ?? []} />
        </Section>
      )}
      <Section title={t('ask')} note={t('askNote')}>
        <Transfer />
        <TopUpForm />
      </Section>
      <Section title={t('requests')}>
        <TopUps />
      </Section>
      <Section title={t('alerts')} note={t('alertsNote')}>
        <AlertForm />
      </Section>
    </Frame>
  );
}
