import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { Checkbox } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { ConsoleKey } from './data.ts';

/** Suspends a key, or lifts its suspension, with a reason. */
export function KeySuspension({ row, onClose }: { row: ConsoleKey; onClose: () => void }) {
  const { t } = useTranslation('console-keys');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [endsCalls, setEndsCalls] = useState(false);
  const suspended = !row.suspended_itself;
  const act = suspended ? 'suspend' : 'lift';
  return (
    <ActDialog
      title={t(`${act}Title`, { name: row.name })}
      description={t(!suspended && row.account_suspended ? 'liftInAccount' : `${act}Text`)}
      confirmText={t(act)}
      isDangerous={suspended}
      values={[reason.trim(), String(endsCalls)]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/keys/{hash}/suspension',
          { params: { hash: row.hash }, body: { suspended, reason: reason.trim(), now: endsCalls } },
          changeKey,
        )
      }
      done={t(`${act}Done`, { name: row.name })}
      onClose={onClose}
    >
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
      {suspended ? (
        <Checkbox
          label={t('keys:endsCalls')}
          hint={t('keys:endsCallsHint')}
          checked={endsCalls}
          onChange={({ target }) => setEndsCalls(target.checked)}
        />
      ) : null}
    </ActDialog>
  );
}
