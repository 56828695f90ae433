import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Time } from '../../ui/figures.tsx';
import { Banner } from '../../ui/states.tsx';

/** Makes a one-time link for an owner; it is shown once. */
export function Invite({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation('account');
  const language = useLanguage();
  const formId = useId();
  const [email, setEmail] = useState('');
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
      title={t('inviteTitle')}
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
            hint={t('inviteHint')}
            optionalText={t('common:optional')}
          >
            <Input
              type="email"
              value={email}
              maxLength={254}
              onChange={({ target }) => setEmail(target.value)}
            />
          </Field>
          {inviting.isError ? <Banner tone="bad">{wordsOfError(inviting.error, language, t)}</Banner> : null}
        </form>
      ) : (
        <div className="flex flex-col gap-2">
          <p className="text-sm">{t(`linkPurpose.${link.purpose}`)}</p>
          <CodeBlock code={link.link.path} label={t('link')} isWrapped />
          <p className="text-sm text-muted">
            {t('linkNote')} <Time at={link.link.expires_at} />
          </p>
        </div>
      )}
    </Dialog>
  );
}
