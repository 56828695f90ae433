import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Field, Input } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { AccountActProps } from './data.ts';

/** Closes an account, or opens it again. */
export function CloseAccount({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const closed = account.closed_at === null;
  const act = closed ? 'close' : 'reopen';
  return (
    <ActDialog
      title={t(`${act}Title`, { name: account.name })}
      description={t(`${act}Text`, {
        shown: format.count(account.keys),
        balance: format.money(account.balance_micro),
      })}
      confirmText={t(act)}
      isDangerous={closed}
      values={[act, reason.trim()]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/closure',
          { params: { account: String(account.id) }, body: { closed, reason: reason.trim() } },
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

/** Renames an account. */
export function RenameAccount({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const [name, setName] = useState(account.name);
  const [isTried, setIsTried] = useState(false);
  const isMissing = name.trim() === '';
  return (
    <ActDialog
      title={t('renameTitle', { name: account.name })}
      confirmText={t('rename')}
      values={[name.trim()]}
      isValid={!isMissing}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'PATCH /console/api/accounts/{account}',
          { params: { account: String(account.id) }, body: { name: name.trim() } },
          changeKey,
        )
      }
      done={t('renameDone', { name: name.trim() })}
      onClose={onClose}
    >
      <Field label={t('newName')} error={isTried && isMissing ? t('newNameError') : null}>
        <Input value={name} maxLength={200} onChange={({ target }) => setName(target.value)} />
      </Field>
    </ActDialog>
  );
}
