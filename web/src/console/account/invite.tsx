import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { Field, Input } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { MadeLink } from '../acts/made-secret.tsx';

/** Makes a one-time link for the owner, who is invited or, with an address here, resets the password. */
export function Invite({
  id,
  address = null,
  onClose,
}: {
  id: string;
  address?: string | null;
  onClose: () => void;
}) {
  const { t } = useTranslation('account');
  const [email, setEmail] = useState(address ?? '');
  const [made, setMade] = useState<ResponseOf<'POST /console/api/accounts/{id}/invitations'> | null>(null);
  const title = t(address === null ? 'inviteTitle' : 'resetTitle');
  if (made !== null)
    return (
      <MadeLink title={title} made={made} onClose={onClose}>
        {t(`linkPurpose.${made.purpose}`)}
      </MadeLink>
    );
  const body = email.trim() === '' ? {} : { email: email.trim() };
  return (
    <ActDialog
      title={title}
      description={t('inviteText')}
      confirmText={t('inviteMake')}
      values={[email.trim()]}
      isValid
      act={async (changeKey) =>
        setMade(
          await change('POST /console/api/accounts/{id}/invitations', { params: { id }, body }, changeKey),
        )
      }
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <EmailField value={email} onChange={setEmail} isFixed={address !== null} />
    </ActDialog>
  );
}

/** The address of whom is invited; without one the person states it. */
export function EmailField({
  value,
  onChange,
  isFixed = false,
}: {
  value: string;
  onChange: (email: string) => void;
  isFixed?: boolean;
}) {
  const { t } = useTranslation('account');
  return (
    <Field
      label={t('accounts:column.email')}
      {...(isFixed ? {} : { hint: t('inviteHint'), optionalText: t('common:optional') })}
    >
      <Input
        type="email"
        value={value}
        maxLength={254}
        readOnly={isFixed}
        onChange={({ target }) => onChange(target.value)}
      />
    </Field>
  );
}
