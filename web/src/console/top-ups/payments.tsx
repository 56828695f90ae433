import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { Section } from '../../app/page.tsx';
import { PagedTable } from '../../app/paged-table.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { usePaymentColumns } from '../../top-ups/payment-columns.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { AmountField, amountOf, ReasonField } from '../acts/fields.tsx';

type Payment = ItemOf<'GET /console/api/payments'>;

/** Payments by card; nothing while there was none. */
export function Payments({ account }: { account: string }) {
  const { t } = useTranslation('top-ups');
  const [canceled, setCanceled] = useState<Payment | null>(null);
  const query = /^\d{1,15}$/.test(account) ? { account } : {};
  const pages = usePages('GET /console/api/payments', { query }, { refetchMs: 15_000 });
  const shared = usePaymentColumns<Payment>();
  const columns = useMemo(
    (): readonly Column<Payment>[] => [
      ...shared,
      {
        id: 'account',
        header: t('column.account'),
        cell: (row) => <AccountLink id={row.account_id} name={row.account_name} />,
        value: (row) => `${row.account_name} #${row.account_id}`,
        isTitle: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) =>
          row.state === 'paid' ? (
            <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => setCanceled(row)}>
              {t('payment.cancel')}
            </ActionButton>
          ) : null,
      },
    ],
    [shared, t],
  );
  if (pages.rows?.length === 0) return null;
  return (
    <Section title={t('payment.title')}>
      <PagedTable
        id="console-payments"
        label={t('payment.title')}
        columns={columns}
        pages={pages}
        rowId={({ order_id }) => order_id}
      />
      {canceled === null ? null : <CancelPayment row={canceled} onClose={() => setCanceled(null)} />}
    </Section>
  );
}

/** Returns a payment to the customer, in whole or in part. */
function CancelPayment({ row, onClose }: { row: Payment; onClose: () => void }) {
  const { t } = useTranslation('top-ups');
  const format = useFormat();
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const micro = amountOf(amount);
  const stated = reason.trim().slice(0, 200);
  return (
    <ActDialog
      title={t('payment.cancelTitle', { amount: format.money(row.amount_micro) })}
      description={t('payment.cancelText', { account: row.account_name })}
      confirmText={t('payment.cancel')}
      isDangerous
      values={[amount, stated]}
      isValid={stated !== '' && (micro !== null || amount.trim() === '')}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/payments/{order}/cancel',
          {
            params: { order: row.order_id },
            body: { reason: stated, ...(micro === null ? {} : { amount_micro: String(micro) }) },
          },
          changeKey,
        )
      }
      done={t('payment.canceledNow', { account: row.account_name })}
      onClose={onClose}
    >
      <AmountField
        value={amount}
        onChange={setAmount}
        isTried={isTried}
        hint={t('payment.amountHint')}
        optionalText={t('common:optional')}
      />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}
