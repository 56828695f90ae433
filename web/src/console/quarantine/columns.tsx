import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Money, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';
import type { Quarantined } from './data.ts';
import type { Decision } from './decision-dialog.tsx';

/** The columns of rejected settlements; each that waits has a button for each decision. */
export function useQuarantineColumns(onDecide: (decision: Decision) => void): readonly Column<Quarantined>[] {
  const { t } = useTranslation('quarantine');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Quarantined>[] => [
      {
        id: 'account',
        header: t('column.account'),
        cell: ({ account }) => <AccountLink {...account} />,
        value: ({ account }) => account.name,
        isTitle: true,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        kind: 'money',
        cell: (row) => <Money micro={row.cost_micro} />,
        value: (row) => parseMicro(row.cost_micro),
        isMainFigure: true,
      },
      {
        id: 'since',
        header: t('column.since'),
        kind: 'time',
        cell: (row) => <Time at={Date.parse(row.quarantined_at)} />,
        value: (row) => Date.parse(row.quarantined_at),
      },
      {
        id: 'attempts',
        header: t('column.attempts'),
        kind: 'number',
        cell: ({ attempts }) => format.count(attempts),
        value: ({ attempts }) => attempts,
      },
      {
        id: 'reason',
        header: t('column.reason'),
        cell: ({ reason }) => <span className="text-muted">{reason}</span>,
        value: ({ reason }) => reason,
      },
      {
        id: 'id',
        header: t('column.id'),
        cell: ({ id }) => <CopyableId id={id} label={t('column.id')} />,
        value: ({ id }) => id,
      },
      {
        id: 'decision',
        header: t('column.decision'),
        kind: 'actions',
        cell: (row) =>
          row.decision === null ? (
            <span className="flex gap-1.5">
              <ActionButton size="sm" needs="admin" onClick={() => onDecide({ kind: 'retry', row })}>
                {t('retry.button')}
              </ActionButton>
              <ActionButton size="sm" needs="admin" onClick={() => onDecide({ kind: 'writeOff', row })}>
                {t('writeOff.button')}
              </ActionButton>
            </span>
          ) : (
            <span className="flex flex-col">
              <Status tone={row.decision === 'settled' ? 'good' : 'neutral'}>
                {t(`decision.${row.decision}`)}
              </Status>
              {row.note === null ? null : <span className="text-xs text-muted">{row.note}</span>}
            </span>
          ),
        value: ({ decision }) => decision,
      },
    ],
    [t, format, onDecide],
  );
}
