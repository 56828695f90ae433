import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { standingTones } from '../../keys/standing.ts';
import { Status } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { LimitMeter, Money, None, Properties, Time } from '../../ui/figures.tsx';
import { EmptyState, SkeletonLines } from '../../ui/states.tsx';
import { AccountLink } from '../account-link.tsx';
import type { ConsoleKey } from '../key-list/data.ts';
import { KeyLimit } from '../key-list/key-limit.tsx';
import { KeySuspension } from '../key-list/key-suspension.tsx';
import { RecentRefusals } from './recent-refusals.tsx';
import { WhyRefused } from './why-refused.tsx';

/** A3: one key, why its calls are refused, and its last refusals. */
export function Page() {
  const { t } = useTranslation('console-keys');
  const { hash = '' } = useParams({ strict: false }) as { hash?: string };
  const key = useQuery(readQuery('GET /console/api/keys/{hash}', { params: { hash } }));
  const [open, setOpen] = useState<'limit' | 'suspension' | null>(null);
  const close = () => setOpen(null);
  const row = key.data;
  const isUnknown = key.error instanceof ApiError && key.error.status === 404;
  return (
    <Frame
      title={row?.name ?? t('oneKey')}
      back={
        <Link to="/keys" className="hover:underline">
          {t('title')}
        </Link>
      }
      aside={
        row === undefined ? null : (
          <Status tone={standingTones[row.standing]}>{t(`keys:standing.${row.standing}`)}</Status>
        )
      }
      actions={
        row === undefined || row.standing === 'revoked' ? null : (
          <>
            {row.kind === 'inference' ? (
              <ActionButton needs="support" onClick={() => setOpen('limit')}>
                {t('changeLimit')}
              </ActionButton>
            ) : null}
            <ActionButton needs="support" onClick={() => setOpen('suspension')}>
              {t(row.suspended_itself ? 'lift' : 'suspend')}
            </ActionButton>
          </>
        )
      }
    >
      {row === undefined ? (
        isUnknown ? (
          <EmptyState icon="key" title={t('unknown.title')}>
            {t('unknown.text')}
          </EmptyState>
        ) : key.isError ? (
          <ReadError of={key} />
        ) : (
          <SkeletonLines lines={6} />
        )
      ) : (
        <>
          <WhyRefused row={row} />
          <KeyProperties row={row} />
          <RecentRefusals row={row} />
        </>
      )}
      {open === 'suspension' && row !== undefined ? <KeySuspension row={row} onClose={close} /> : null}
      {open === 'limit' && row !== undefined ? <KeyLimit row={row} onClose={close} /> : null}
    </Frame>
  );
}

function KeyProperties({ row }: { row: ConsoleKey }) {
  const { t } = useTranslation('console-keys');
  return (
    <Section title={t('properties')}>
      <Properties
        rows={[
          {
            name: t('column.account'),
            value: <AccountLink id={row.account_id} name={row.account_name} />,
          },
          { name: t('label'), value: <span className="font-mono text-xs">{row.label}</span> },
          { name: t('hash'), value: <CopyableId id={row.hash} label={t('hash')} /> },
          { name: t('column.kind'), value: t(`kind.${row.kind}`) },
          {
            name: t('column.limit'),
            value: (
              <div className="max-w-80">
                <LimitMeter
                  used={row.limit_used_micro}
                  limit={row.limit_micro}
                  label={t('limitOf', { name: row.name })}
                />
              </div>
            ),
          },
          { name: t('nextReset'), value: <Time at={row.next_reset_at} /> },
          { name: t('column.spend'), value: <Money micro={row.usage_monthly_micro} /> },
          { name: t('spendTotal'), value: <Money micro={row.usage_total_micro} /> },
          { name: t('keys:allowedModels'), value: row.allowed_models?.join(', ') ?? <None /> },
          { name: t('keys:allowedProviders'), value: row.allowed_providers?.join(', ') ?? <None /> },
          { name: t('keys:rpmLimit'), value: row.rpm_limit ?? <None /> },
          { name: t('expires'), value: <Time at={row.expires_at} /> },
          { name: t('column.created'), value: <Time at={row.created_at} /> },
        ]}
      />
    </Section>
  );
}
