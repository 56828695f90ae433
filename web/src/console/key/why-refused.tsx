import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge, Status } from '../../ui/badge.tsx';
import type { ConsoleKey } from '../key-list/data.ts';

/** Everything that refuses the calls of a key now, in the order in which the API checks it. */
export function WhyRefused({ row }: { row: ConsoleKey }) {
  const { t } = useTranslation('console-keys');
  const wordsOf = useWords(row);
  if (row.refusals.length === 0)
    return (
      <Section title={t('why')}>
        <p>
          <Status tone="good" isLong>
            {t('notRefused')}
          </Status>
        </p>
        {row.kind === 'management' ? <p className="text-sm text-muted">{t('isManagement')}</p> : null}
      </Section>
    );
  return (
    <Section title={t('why')} note={t('whyNote')}>
      <ol className="flex flex-col">
        {row.refusals.map(({ cause, status, type }, index) => (
          <li
            key={cause}
            className="flex flex-wrap items-baseline gap-x-3 gap-y-1 border-b py-2 last:border-b-0"
          >
            <span className="w-5 text-right text-muted">{index + 1}</span>
            <Badge tone={index === 0 ? 'bad' : 'neutral'}>
              {status} {type}
            </Badge>
            <span className="min-w-0 flex-1">{wordsOf(cause)}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** A cause in words, with the values that decide it. */
function useWords(row: ConsoleKey) {
  const { t } = useTranslation('console-keys');
  const format = useFormat();
  return (cause: ConsoleKey['refusals'][number]['cause']) => {
    switch (cause) {
      case 'expired':
        return t('cause.expired', { at: row.expires_at === null ? '' : format.time(row.expires_at) });
      case 'suspended_by_admin':
        return (
          <>
            {row.suspended_itself
              ? t('cause.suspended_by_admin', { reason: row.suspend_reason ?? t('common:none') })
              : null}{' '}
            {row.account_suspended ? (
              <Link to={`/accounts/${row.account_id}`} className="hover:underline">
                {t('cause.accountSuspended', { reason: row.account_suspend_reason ?? t('common:none') })}
              </Link>
            ) : null}
          </>
        );
      case 'suspended_no_credit':
        return (
          <Link to={`/accounts/${row.account_id}`} className="hover:underline">
            {t('cause.suspended_no_credit')}
          </Link>
        );
      case 'limit':
        return t('cause.limit', {
          used: format.money(row.limit_used_micro),
          limit: format.money(row.limit_micro ?? '0'),
          reset: row.next_reset_at === null ? t('never') : format.time(row.next_reset_at),
        });
      default:
        return t(`cause.${cause}`);
    }
  };
}
