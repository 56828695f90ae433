import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Field, Input } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { BalanceChange } from '../acts/balance-change.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { TopUp } from './columns.tsx';

interface DecisionProps {
  readonly row: TopUp;
  readonly onClose: () => void;
}

/** Confirms a request: the amount is credited once. */
export function ConfirmTopUp({ row, onClose }: DecisionProps) {
  const { t } = useTranslation('top-ups');
  const format = useFormat();
  const [reference, setReference] = useState('');
  const amount = format.money(row.amount_micro);
  const stated = reference.trim();
  return (
    <ActDialog
      title={t('confirmTitle', { amount })}
      description={t('confirmText', { account: row.account_name, depositor: row.depositor ?? '–' })}
      confirmText={t('confirm')}
      values={[stated]}
      isValid
      act={(changeKey) =>
        change(
          'POST /console/api/topups/{id}/confirm',
          { params: { id: String(row.id) }, body: stated === '' ? {} : { bank_reference: stated } },
          changeKey,
        )
      }
      done={t('confirmed', { amount, account: row.account_name })}
      onClose={onClose}
    >
      <BalanceChange balance={row.balance_micro} amount={parseMicro(row.amount_micro)} />
      <Field label={t('column.bankReference')} hint={t('referenceHint')} optionalText={t('common:optional')}>
        <Input
          value={reference}
          maxLength={200}
          onChange={({ target }) => setReference(target.value)}
          spellCheck={false}
        />
      </Field>
    </ActDialog>
  );
}

/** Rejects a request with a reason; no money moves. */
export function RejectTopUp({ row, onClose }: DecisionProps) {
  const { t } = useTranslation('top-ups');
  const format = useFormat();
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const amount = format.money(row.amount_micro);
  const stated = reason.trim();
  return (
    <ActDialog
      title={t('rejectTitle', { amount })}
      description={t('rejectText', { account: row.account_name })}
      confirmText={t('reject')}
      isDangerous
      values={[stated]}
      isValid={stated !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/topups/{id}/reject',
          { params: { id: String(row.id) }, body: { reason: stated } },
          changeKey,
        )
      }
      done={t('rejected', { amount, account: row.account_name })}
      onClose={onClose}
    >
      <BalanceChange balance={row.balance_micro} amount={0n} />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} hint={t('reasonHint')} />
    </ActDialog>
  );
}
