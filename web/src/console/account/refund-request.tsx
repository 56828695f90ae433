import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import type { RequestRow } from '../../requests/columns.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { BalanceChange } from '../acts/balance-change.tsx';
import { AmountField, amountOf, ReasonField } from '../acts/fields.tsx';

/** Refunds the cost of one request, or a part of it. */
export function RefundRequest({ id, row, onClose }: { id: string; row: RequestRow; onClose: () => void }) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [isToKeyLimit, setIsToKeyLimit] = useState(false);
  const [isTried, setIsTried] = useState(false);
  const account = useQuery(readQuery('GET /console/api/accounts/{account}', { params: { account: id } }));
  const isWhole = typed.trim() === '';
  const amount = isWhole ? parseMicro(row.cost_micro) : amountOf(typed);
  return (
    <ActDialog
      title={t('refundTitle', { cost: format.money(row.cost_micro) })}
      description={t('refundText')}
      confirmText={t('refund')}
      values={[typed.trim(), reason.trim(), String(isToKeyLimit)]}
      isValid={amount !== null && reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/generations/{id}/refund',
          {
            params: { account: id, id: row.id },
            body: {
              reason: reason.trim(),
              to_key_limit: isToKeyLimit,
              ...(isWhole || amount === null ? {} : { amount_micro: String(amount) }),
            },
          },
          changeKey,
        )
      }
      done={t('refunded', { amount: format.money(amount ?? 0n) })}
      onClose={onClose}
    >
      <AmountField
        value={typed}
        onChange={setTyped}
        isTried={isTried}
        optionalText={t('common:optional')}
        hint={t('refundHint')}
      />
      <Checkbox
        label={t('toKeyLimit')}
        hint={t('toKeyLimitHint')}
        checked={isToKeyLimit}
        onChange={({ target }) => setIsToKeyLimit(target.checked)}
      />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} hint={t('reasonInLedger')} />
      {account.data === undefined ? null : (
        <BalanceChange balance={account.data.balance_micro} amount={amount} />
      )}
    </ActDialog>
  );
}
