import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { Link } from '../../app/link.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { EmailField } from '../account/invite.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { MadeLink } from '../acts/made-secret.tsx';

/** Creates an account, and shows the link with which its owner signs up. */
export function NewAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('account');
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [made, setMade] = useState<ResponseOf<'POST /console/api/accounts'> | null>(null);
  if (made !== null)
    return (
      <MadeLink title={t('accounts:created', { name: name.trim() })} made={made} onClose={onClose}>
        {t('linkPurpose.invitation')}{' '}
        <Link to={`/accounts/${made.id}`} className="underline">
          {t('accounts:open')}
        </Link>
      </MadeLink>
    );
  const body = { name: name.trim(), ...(email.trim() === '' ? {} : { email: email.trim() }) };
  return (
    <ActDialog
      title={t('accounts:create')}
      description={t('inviteText')}
      confirmText={t('accounts:create')}
      values={[body.name, email.trim()]}
      isValid={body.name !== ''}
      onInvalid={() => setIsTried(true)}
      act={async (changeKey) => setMade(await change('POST /console/api/accounts', { body }, changeKey))}
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <Field label={t('newName')} error={isTried && body.name === '' ? t('newNameError') : null}>
        <Input value={name} maxLength={200} onChange={({ target }) => setName(target.value)} />
      </Field>
      <EmailField value={email} onChange={setEmail} />
    </ActDialog>
  );
}
