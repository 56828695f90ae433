import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import type { ItemOf } from '../../app/use-pages.ts';
import { decimalWon } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { None, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { type Changed, changesOf } from './changes.ts';

type Act = ItemOf<'GET /console/api/audit'>;

const longestId = 24;

/** The columns of the audit log: who did what to what, why, and what it changed. */
export function useAuditColumns(): readonly Column<Act>[] {
  const { t } = useTranslation('audit');
  return useMemo(
    (): readonly Column<Act>[] => [
      {
        id: 'at',
        header: t('column.at'),
        kind: 'time',
        cell: (row) => <Time at={row.at} style="second" />,
        value: (row) => Date.parse(row.at),
        isSortable: false,
      },
      {
        id: 'who',
        header: t('column.who'),
        cell: (row) => (
          <span className="whitespace-nowrap">
            {row.who}{' '}
            <span className="text-muted">
              {row.role === 'cli' ? t('commandLine') : t(`common:role.${row.role}`)}
            </span>
          </span>
        ),
        value: (row) => row.who,
        isSortable: false,
      },
      {
        id: 'act',
        header: t('column.act'),
        cell: (row) => <ActName act={row.act} />,
        value: (row) => row.act,
        isTitle: true,
        isSortable: false,
      },
      {
        id: 'account',
        header: t('column.account'),
        cell: (row) =>
          row.account_id === null ? (
            <None />
          ) : (
            <Link to={`/accounts/${row.account_id}`} className="hover:underline">
              #{row.account_id}
            </Link>
          ),
        value: (row) => row.account_id,
        isSortable: false,
      },
      {
        id: 'subject',
        header: t('column.subject'),
        cell: (row) => <Subject subject={row.subject} />,
        value: (row) => row.subject,
        isSortable: false,
      },
      {
        id: 'changes',
        header: t('column.changes'),
        cell: (row) => <Changes act={row} />,
        value: (row) => changesOf(row.before, row.after, decimalWon).map(textOf).join('; '),
        isSortable: false,
      },
      {
        id: 'reason',
        header: t('column.reason'),
        cell: (row) => row.reason ?? <None />,
        value: (row) => row.reason,
        isSortable: false,
      },
    ],
    [t],
  );
}

function Subject({ subject }: { subject: string | null }) {
  const { t } = useTranslation('audit');
  if (subject === null) return <None />;
  if (/^[0-9a-f]{64}$/.test(subject))
    return (
      <Link to={`/keys/${subject}`} className="font-mono text-xs hover:underline">
        {subject.slice(0, 12)}…
      </Link>
    );
  const [, kind = '', id = ''] =
    /^(entry|top-up|announcement|edition|key|session|owner) (\S+)$/.exec(subject) ?? [];
  if (kind !== '') return t(`subjects.${kind}`, { id });
  return subject.length > longestId ? <CopyableId id={subject} label={t('column.subject')} /> : subject;
}

/** What was done, in words, above its name in the commands and files. */
function ActName({ act }: { act: string }) {
  const words = useActWords();
  return (
    <>
      <span className="block">{words(act)}</span>
      <span className="block font-mono text-xs font-normal text-muted">{act}</span>
    </>
  );
}

/** Says an act in words; one without words by its name. */
export function useActWords(): (act: string) => string {
  const { t } = useTranslation('audit');
  return (act) => t(`acts.${act.replaceAll('.', '_')}`, { defaultValue: act });
}

/** Each member that an act changed: its value before, an arrow, its value after. */
function Changes({ act }: { act: Act }) {
  const { t } = useTranslation('audit');
  const format = useFormat();
  const changes = changesOf(act.before, act.after, (micro) => format.money(micro));
  const words = (value: string): string => t(`values.${value}`, { defaultValue: value });
  if (changes.length === 0) return <None />;
  return (
    <ul className="max-w-90 py-1.5 text-xs">
      {changes.map(({ name, before, after }) => (
        <li key={name} className="break-words">
          <span className="text-muted">{t(`members.${name}`, { defaultValue: name })}</span>{' '}
          {before === null ? null : (
            <>
              {words(before)} <span aria-hidden="true">→</span>
              <span className="sr-only">{t('becomes')}</span>{' '}
            </>
          )}
          <span className="font-medium">{after === null ? t('common:none') : words(after)}</span>
        </li>
      ))}
    </ul>
  );
}

/** For files: the amounts are won, as commands have them. */
function textOf({ name, before, after }: Changed): string {
  const shown = name.replace(/_micro$/, '_krw');
  return before === null ? `${shown}: ${after}` : `${shown}: ${before} → ${after}`;
}
