import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

/** What requests in flight and unsettled records have in common. */
interface WorkRow {
  readonly id: string;
  readonly account: { readonly id: number; readonly name: string };
  readonly model: string | null;
  readonly worker: number | null;
}

/** The columns that both tables have. */
export function useSharedColumns(): Readonly<Record<'account' | 'model' | 'worker' | 'id', Column<WorkRow>>> {
  const { t } = useTranslation('open');
  return useMemo(
    () => ({
      account: {
        id: 'account',
        header: t('column.account'),
        cell: ({ account }) => <AccountLink {...account} />,
        value: ({ account }) => account.name,
        isTitle: true,
      },
      model: {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) => model ?? <None />,
        value: ({ model }) => model,
      },
      worker: {
        id: 'worker',
        header: t('column.worker'),
        kind: 'number',
        cell: ({ worker }) => worker ?? <None />,
        value: ({ worker }) => worker,
        isHiddenByDefault: true,
      },
      id: {
        id: 'id',
        header: t('column.id'),
        cell: ({ id }) => <CopyableId id={id} label={t('column.id')} />,
        value: ({ id }) => id,
        isWideOnly: true,
      },
    }),
    [t],
  );
}

/** Says that a table has the oldest rows only. */
export function OldestNote({ shown, total }: { shown: number | undefined; total: number }) {
  const { t } = useTranslation('open');
  const format = useFormat();
  if (shown === undefined || total <= shown) return null;
  return (
    <p className="text-sm text-muted">
      {t('oldest', { shown: format.count(shown), total: format.count(total) })}
    </p>
  );
}
