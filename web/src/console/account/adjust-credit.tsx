import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Segmented } from '../../ui/tabs.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { BalanceChange } from '../acts/balance-change.tsx';
import { AmountField, amountOf, ReasonField } from '../acts/fields.tsx';
import type { AccountActProps } from './data.ts';

const directions = ['add', 'deduct'] as const;

/** Adds or deducts credit: for what no other act covers. */
export function AdjustCredit({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [direction, setDirection] = useState<(typeof directions)[number]>('add');
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const stated = amountOf(typed);
  const amount = stated === null ? null : direction === 'add' ? stated : -stated;
  return (
    <ActDialog
      title={t('adjustTitle', { name: account.name })}
      description={t('adjustText')}
      confirmText={t('adjust')}
      isDangerous={direction === 'deduct'}
      values={[String(amount), reason.trim()]}
      isValid={amount !== null && reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/adjustments',
          {
            params: { account: String(account.id) },
            body: { amount_micro: String(amount ?? 0n), reason: reason.trim() },
          },
          changeKey,
        )
      }
      done={t('adjusted', { amount: format.money(amount ?? 0n, { signed: true }), name: account.name })}
      onClose={onClose}
    >
      <div>
        <Segmented
          label={t('directionLabel')}
          value={direction}
          onChange={setDirection}
          options={directions.map((value) => ({ value, label: t(`direction.${value}`) }))}
        />
      </div>
      <AmountField value={typed} onChange={setTyped} isTried={isTried} />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} hint={t('reasonInLedger')} />
      <BalanceChange balance={account.balance_micro} amount={amount} />
    </ActDialog>
  );
}
