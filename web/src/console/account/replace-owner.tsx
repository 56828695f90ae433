import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { Field, Input } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import { MadeLink } from '../acts/made-secret.tsx';

type Made = ResponseOf<'POST /console/api/accounts/{id}/owner/replacement'>;

/** Gives an account to another person, who sets a password with the link. */
export function ReplaceOwner({ id, from, onClose }: { id: string; from: string; onClose: () => void }) {
  const { t } = useTranslation('account');
  const [email, setEmail] = useState('');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const isMissing = email.trim() === '';
  if (made !== null)
    return (
      <MadeLink title={t('replaced')} made={made} onClose={onClose}>
        {t('linkPurpose.replacement')}
      </MadeLink>
    );
  return (
    <ActDialog
      title={t('replaceTitle')}
      description={t('replaceText', { email: from })}
      confirmText={t('replace')}
      isDangerous
      values={[email.trim(), reason.trim()]}
      isValid={!isMissing && reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={async (changeKey) => {
        const body = { email: email.trim(), reason: reason.trim() };
        setMade(
          await change(
            'POST /console/api/accounts/{id}/owner/replacement',
            { params: { id }, body },
            changeKey,
          ),
        );
      }}
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <Field label={t('newEmail')} error={isTried && isMissing ? t('newEmailError') : null}>
        <Input type="email" value={email} maxLength={254} onChange={({ target }) => setEmail(target.value)} />
      </Field>
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}
