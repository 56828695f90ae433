import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Time } from '../../ui/figures.tsx';
import { Banner } from '../../ui/states.tsx';

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
  const language = useLanguage();
  const formId = useId();
  const [email, setEmail] = useState(address ?? '');
  const [made, setMade] = useState({ email: '', changeKey: newChangeKey() });
  const inviting = useMutation({
    mutationFn: (changeKey: string) =>
      change(
        'POST /console/api/accounts/{id}/invitations',
        { params: { id }, body: email.trim() === '' ? {} : { email: email.trim() } },
        changeKey,
      ),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (inviting.isPending) return;
    const next = made.email === email ? made : { email, changeKey: newChangeKey() };
    setMade(next);
    inviting.mutate(next.changeKey);
  };
  const link = inviting.data;
  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t(address === null ? 'inviteTitle' : 'resetTitle')}
      description={t('inviteText')}
      size="sm"
      footer={
        link === undefined ? (
          <>
            <Button onClick={onClose}>{t('common:cancel')}</Button>
            <Button variant="primary" type="submit" form={formId} isBusy={inviting.isPending}>
              {t('inviteMake')}
            </Button>
          </>
        ) : (
          <Button onClick={onClose}>{t('common:close')}</Button>
        )
      }
    >
      {link === undefined ? (
        <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-3">
          <Field
            label={t('accounts:column.email')}
            {...(address === null ? { hint: t('inviteHint'), optionalText: t('common:optional') } : {})}
          >
            <Input
              type="email"
              value={email}
              maxLength={254}
              readOnly={address !== null}
              onChange={({ target }) => setEmail(target.value)}
            />
          </Field>
          {inviting.isError ? <Banner tone="bad">{wordsOfError(inviting.error, language, t)}</Banner> : null}
        </form>
      ) : (
        <MadeLink made={link} purpose={link.purpose} />
      )}
    </Dialog>
  );
}

/** A link that works once, or why this response to a repeated request has none. */
export function MadeLink({
  made: { link, message },
  purpose,
}: {
  made: Pick<ResponseOf<'POST /console/api/accounts/{id}/invitations'>, 'link' | 'message'>;
  purpose: 'invitation' | 'reset' | 'replacement';
}) {
  const { t } = useTranslation('account');
  const language = useLanguage();
  if (link === null) return <Banner tone="bad">{message?.[language]}</Banner>;
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm">{t(`linkPurpose.${purpose}`)}</p>
      <CodeBlock code={link.path} label={t('link')} isWrapped />
      <p className="text-sm text-muted">
        {t('linkNote')} <Time at={link.expires_at} />
      </p>
    </div>
  );
}
