import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type NamedApp, useRefreshApps } from './app.ts';

const formId = 'rename-app';

/** Gives an app another name on the own pages; an empty one is the recorded name again. */
export function RenameForm({ app, onClose }: { app: NamedApp; onClose: () => void }) {
  const { t } = useTranslation('apps');
  const language = useLanguage();
  const refresh = useRefreshApps();
  const [name, setName] = useState(app.name);
  const [changeKey, setChangeKey] = useState(newChangeKey);
  const saving = useMutation({
    mutationFn: () => {
      const wanted = name.trim();
      return change(
        'PATCH /dashboard/api/apps/{id}',
        {
          params: { id: String(app.id) },
          body: { name: wanted === '' || wanted === app.recorded_name ? null : wanted },
        },
        changeKey,
      );
    },
    onSuccess: (changed) => {
      showToast({ tone: 'good', text: t('renamed', { name: changed.app.name }) });
      onClose();
    },
    onSettled: refresh,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!saving.isPending) saving.mutate();
  };
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('renameTitle', { name: app.name })}
      description={t('renameText')}
      size="sm"
      footer={
        <>
          <Button onClick={onClose}>{t('common:cancel')}</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={saving.isPending}>
            {t('common:save')}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-3">
        <Field label={t('column.name')} hint={t('renameHint', { name: app.recorded_name })}>
          <Input
            value={name}
            maxLength={100}
            autoComplete="off"
            onChange={({ target }) => {
              setName(target.value);
              if (!saving.isError) return;
              saving.reset();
              setChangeKey(newChangeKey());
            }}
          />
        </Field>
        {saving.isError ? <Banner tone="bad">{wordsOfError(saving.error, language, t)}</Banner> : null}
      </form>
    </Dialog>
  );
}
