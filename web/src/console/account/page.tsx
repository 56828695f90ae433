import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { UsageParts } from '../../credits/usage-parts.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { standingTones } from '../../keys/standing.ts';
import { Status } from '../../ui/badge.tsx';
import { Figure, FigureRow, Money } from '../../ui/figures.tsx';
import { Banner, EmptyState, SkeletonLines } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { KeyList } from '../key-list/key-list.tsx';
import { AccountActs } from './account-acts.tsx';
import { AccountApps } from './account-apps.tsx';
import { AccountCredit } from './account-credit.tsx';
import { AccountLedger } from './account-ledger.tsx';
import { AccountOwner } from './account-owner.tsx';
import { AccountRequests } from './account-requests.tsx';
import { AccountUsage } from './account-usage.tsx';
import { type Account, shownNumber } from './data.ts';

const tabs = ['usage', 'requests', 'apps', 'keys', 'credit', 'ledger', 'owners'] as const;
const schema: SearchSchema<{ tab: (typeof tabs)[number] }> = { tab: oneOf(tabs, 'usage') };
const refreshMs = 10_000;

/** A2: one account: its money, the owner's pages read-only, and the acts of operators. */
export function Page() {
  const { t } = useTranslation('account');
  const format = useFormat();
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const account = useQuery({
    ...readQuery('GET /console/api/accounts/{account}', { params: { account: id } }),
    refetchInterval: refreshMs,
  });
  const row = account.data;
  return (
    <Frame
      title={row?.name ?? t('title')}
      back={
        <Link to="/accounts" className="hover:underline">
          {t('accounts:title')}
        </Link>
      }
      aside={row === undefined ? null : <Head account={row} query={account} />}
      actions={row === undefined ? null : <AccountActs account={row} />}
    >
      {row === undefined ? (
        account.error instanceof ApiError && account.error.status === 404 ? (
          <EmptyState icon="users" title={t('unknown')} />
        ) : account.isError ? (
          <ReadError of={account} />
        ) : (
          <SkeletonLines lines={4} />
        )
      ) : (
        <>
          {row.closed_at === null ? null : (
            <Banner tone="bad">{t('closed', { at: format.time(row.closed_at, 'date') })}</Banner>
          )}
          {row.suspended_at === null ? null : (
            <Banner tone="bad">{t('suspended', { reason: row.suspend_reason ?? t('common:none') })}</Banner>
          )}
          <Money30Days account={row} />
          <Views id={id} />
        </>
      )}
    </Frame>
  );
}

function Head({
  account,
  query,
}: {
  account: Account;
  query: { dataUpdatedAt: number; isError: boolean; isFetching: boolean; refetch: () => unknown };
}) {
  const { t } = useTranslation('account');
  return (
    <>
      <span className="text-muted">#{account.id}</span>
      {account.business_number === null ? null : (
        <span className="text-sm text-muted">
          {t('businessNumber')} {shownNumber(account.business_number)}
        </span>
      )}
      <Status tone={standingTones[account.standing]}>{t(`accounts:standing.${account.standing}`)}</Status>
      <QueryAge of={query} />
    </>
  );
}

function Money30Days({ account }: { account: Account }) {
  const { t } = useTranslation('account');
  const format = useFormat();
  return (
    <FigureRow>
      <Figure
        isMain
        label={t('balance')}
        note={
          <Link to="." search={(before) => ({ ...before, tab: 'credit' })} className="hover:underline">
            {t('toCredit')}
          </Link>
        }
      >
        <Money micro={account.balance_micro} />
      </Figure>
      <Figure
        label={t('spend')}
        note={
          <Link to="." search={(before) => ({ ...before, tab: 'requests' })} className="hover:underline">
            {t('requests', { count: account.requests_30d, shown: format.count(account.requests_30d) })}
          </Link>
        }
      >
        <Money micro={account.spend_30d_micro} />
      </Figure>
      <Figure
        label={t('credits')}
        note={
          <Link to="." search={(before) => ({ ...before, tab: 'ledger' })} className="hover:underline">
            {t('toLedger')}
          </Link>
        }
      >
        <Money micro={account.total_credits_micro} />
      </Figure>
      <Figure label={t('used')} note={<UsageParts usage={account} />}>
        <Money micro={account.total_usage_micro} />
      </Figure>
    </FigureRow>
  );
}

function Views({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const [{ tab }, change] = useSearchParams(schema);
  return (
    <Tabs
      label={t('views')}
      value={tab}
      onChange={(next) => change({ tab: next })}
      tabs={[
        { value: 'usage', label: t('tab.usage'), content: <AccountUsage id={id} /> },
        { value: 'requests', label: t('tab.requests'), content: <AccountRequests id={id} /> },
        { value: 'apps', label: t('tab.apps'), content: <AccountApps id={id} /> },
        {
          value: 'keys',
          label: t('tab.keys'),
          content: (
            <KeyList
              query={{ account: id }}
              isOfOneAccount
              empty={<EmptyState icon="key" title={t('noKeys')} />}
            />
          ),
        },
        { value: 'credit', label: t('tab.credit'), content: <AccountCredit id={id} /> },
        { value: 'ledger', label: t('tab.ledger'), content: <AccountLedger id={id} /> },
        { value: 'owners', label: t('tab.owners'), content: <AccountOwner id={id} /> },
      ]}
    />
  );
}
