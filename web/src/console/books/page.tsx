import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Figure, FigureRow, None, RelativeTime, Time } from '../../ui/figures.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { Verification } from './verification.tsx';

const refreshMs = 15_000;
const runningRefreshMs = 500;

/** A11: whether the ledger agrees, a file for the accountant, and the last backup. */
export function Page() {
  const { t } = useTranslation('books');
  const format = useFormat();
  const state = useQuery({
    ...readQuery('GET /console/api/books', {}),
    refetchInterval: (query) => (query.state.data?.run?.state === 'running' ? runningRefreshMs : refreshMs),
  });
  if (state.data === undefined)
    return (
      <Frame title={t('title')}>
        {state.isError ? <ReadError of={state} /> : <SkeletonLines lines={4} />}
      </Frame>
    );
  const { run, last_verification: verified, last_backup: backup } = state.data;
  const differences = Number(verified?.details?.['differences'] ?? 0);
  const rows = Number(backup?.details?.['rows'] ?? 0);
  return (
    <Frame title={t('title')} aside={<QueryAge of={state} />}>
      <FigureRow>
        <Figure
          isMain
          label={t('lastVerification')}
          note={
            verified === null ? (
              t('neverVerified')
            ) : (
              <>
                <RelativeTime at={Date.parse(verified.at)} /> · {verified.who} ·{' '}
                <AuditLink act="ledger.verify" />
              </>
            )
          }
        >
          {verified === null ? (
            <None />
          ) : differences === 0 ? (
            t('agreed')
          ) : (
            t('differed', { shown: format.count(differences) })
          )}
        </Figure>
        <Figure
          label={t('lastBackup')}
          note={
            backup === null ? (
              t('neverBackedUp')
            ) : (
              <>
                <Time at={Date.parse(backup.at)} /> · {t('rows', { shown: format.count(rows) })} ·{' '}
                <AuditLink act="backup" />
              </>
            )
          }
        >
          {backup === null ? <None /> : <RelativeTime at={Date.parse(backup.at)} />}
        </Figure>
      </FigureRow>
      <Verification run={run} />
      {(['month-end', 'quarantine'] as const).map((page) => (
        <p key={page} className="text-sm">
          <Link to={`/${page}`} className="text-accent-text hover:underline">
            {t(page === 'month-end' ? 'monthEnd' : page)}
          </Link>
        </p>
      ))}
    </Frame>
  );
}

/** Every record of an act of the books in the audit log. */
function AuditLink({ act }: { act: 'ledger.verify' | 'backup' }) {
  const { t } = useTranslation('books');
  return (
    <Link to="/audit" search={{ act }} className="hover:underline">
      {t('inAudit')}
    </Link>
  );
}
