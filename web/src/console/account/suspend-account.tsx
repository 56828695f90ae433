import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { AccountActProps } from './data.ts';

/** Suspends an account with all its keys, or lifts that. */
export function SuspendAccount({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const suspended = account.suspended_at === null;
  const act = suspended ? 'suspend' : 'resume';
  return (
    <ActDialog
      title={t(`${act}Title`, { name: account.name })}
      description={t(`${act}Text`, { count: account.keys, shown: format.count(account.keys) })}
      confirmText={t(act)}
      isDangerous={suspended}
      values={[act, reason.trim()]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/suspension',
          { params: { account: String(account.id) }, body: { suspended, reason: reason.trim() } },
          changeKey,
        )
      }
      done={t(`${act}Done`, { name: account.name })}
      onClose={onClose}
    >
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}
