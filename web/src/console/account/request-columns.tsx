import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import type { AccountRequest } from './account-requests.tsx';

const tones = { ok: 'good', failed: 'bad', cancelled: 'neutral' } as const;

/** The columns of the requests of an account; the last one refunds. */
export function useRequestColumns(
  onRefund: (row: AccountRequest) => void,
): readonly Column<AccountRequest>[] {
  const { t } = useTranslation('account');
  const format = useFormat();
  return useMemo(
    (): readonly Column<AccountRequest>[] => [
      {
        id: 'time',
        header: t('column.time'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="second" />,
        value: (row) => Date.parse(row.created_at),
        isTitle: true,
      },
      {
        id: 'outcome',
        header: t('column.outcome'),
        cell: (row) => (
          <Status tone={tones[row.outcome]}>
            {row.outcome === 'failed' ? `${row.status} ${row.error_type ?? ''}` : t(`outcome.${row.outcome}`)}
          </Status>
        ),
        value: (row) => (row.outcome === 'failed' ? `${row.status} ${row.error_type}` : row.outcome),
      },
      {
        id: 'model',
        header: t('by.model'),
        cell: (row) => row.model ?? row.asked_model ?? <None />,
        value: (row) => row.model ?? row.asked_model,
      },
      {
        id: 'provider',
        header: t('column.provider'),
        cell: (row) => row.provider ?? <None />,
        value: (row) => row.provider,
        isHiddenByDefault: true,
      },
      {
        id: 'app',
        header: t('by.app'),
        cell: (row) => row.app?.name ?? <None />,
        value: (row) => row.app?.name ?? null,
        isWideOnly: true,
      },
      {
        id: 'key',
        header: t('by.key'),
        cell: (row) => row.key?.name ?? <None />,
        value: (row) => row.key?.name ?? null,
        isWideOnly: true,
      },
      {
        id: 'tokens',
        header: t('column.tokens'),
        kind: 'number',
        cell: (row) => format.count(row.prompt_tokens + row.completion_tokens),
        value: (row) => row.prompt_tokens + row.completion_tokens,
      },
      {
        id: 'id',
        header: t('column.id'),
        cell: (row) => <CopyableId id={row.id} label={t('column.id')} maxChars={14} />,
        value: (row) => row.id,
        isWideOnly: true,
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
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) =>
          parseMicro(row.cost_micro) === 0n ? null : (
            <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => onRefund(row)}>
              {t('refund')}
            </ActionButton>
          ),
      },
    ],
    [format, onRefund, t],
  );
}
