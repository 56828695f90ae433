import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { startOfDay } from '../../format/time.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Field, Input } from '../../ui/field.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { BalanceChange } from '../acts/balance-change.tsx';
import { AmountField, amountOf, ReasonField } from '../acts/fields.tsx';
import type { AccountActProps } from './data.ts';

const kinds = ['bonus', 'topup'] as const;
const dayMs = 86_400_000;

/** Grants credit: a bonus, or a top-up that came another way. */
export function GrantCredit({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [kind, setKind] = useState<(typeof kinds)[number]>('bonus');
  const [typed, setTyped] = useState('');
  const [lastDay, setLastDay] = useState('');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const amount = amountOf(typed);
  const lastMs = lastDay === '' ? null : startOfDay(lastDay);
  return (
    <ActDialog
      title={t('grantTitle', { name: account.name })}
      confirmText={t('grant')}
      values={[kind, String(amount), lastDay, reason.trim()]}
      isValid={amount !== null && reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/grants',
          {
            params: { account: String(account.id) },
            body: {
              kind,
              amount_micro: String(amount ?? 0n),
              reason: reason.trim(),
              ...(lastMs === null ? {} : { expires_at: new Date(lastMs + dayMs).toISOString() }),
            },
          },
          changeKey,
        )
      }
      done={t('granted', { amount: format.money(amount ?? 0n), name: account.name })}
      onClose={onClose}
    >
      <div>
        <Segmented
          label={t('kindLabel')}
          value={kind}
          onChange={setKind}
          options={kinds.map((value) => ({ value, label: t(`kind.${value}`) }))}
        />
      </div>
      <AmountField value={typed} onChange={setTyped} isTried={isTried} />
      <Field label={t('lastDay')} hint={t('lastDayHint')} optionalText={t('common:optional')}>
        <Input type="date" value={lastDay} onChange={({ target }) => setLastDay(target.value)} />
      </Field>
      <ReasonField value={reason} onChange={setReason} isTried={isTried} hint={t('reasonInLedger')} />
      <BalanceChange balance={account.balance_micro} amount={amount} />
    </ActDialog>
  );
}
