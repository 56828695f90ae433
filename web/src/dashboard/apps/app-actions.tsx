import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { IconButton } from '../../ui/button.tsx';
import { Menu } from '../../ui/menu.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type NamedApp, useRefreshApps } from './app.ts';
import { MergeForm } from './merge-form.tsx';
import { RenameForm } from './rename-form.tsx';

export interface AppActionsProps {
  readonly app: NamedApp;
  /** The apps that it may be merged into. */
  readonly others: readonly NamedApp[];
  readonly onMerged?: (target: NamedApp) => void;
}

/** Everything that an owner changes of an app on the own pages. */
export function AppActions({ app, others, onMerged }: AppActionsProps) {
  const { t } = useTranslation('apps');
  const language = useLanguage();
  const refresh = useRefreshApps();
  const [open, setOpen] = useState<'rename' | 'merge' | null>(null);
  const hiding = useMutation({
    mutationFn: () =>
      change('PATCH /dashboard/api/apps/{id}', {
        params: { id: String(app.id) },
        body: { is_hidden: !app.is_hidden },
      }),
    onSuccess: () =>
      showToast({ tone: 'good', text: t(app.is_hidden ? 'shownAgain' : 'hiddenNow', { name: app.name }) }),
    onError: (error) => showToast({ tone: 'bad', text: wordsOfError(error, language, t) }),
    onSettled: refresh,
  });
  const close = (): void => setOpen(null);
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" size="sm" label={t('actionsOf', { name: app.name })} />}
        items={[
          { label: t('action.rename'), onSelect: () => setOpen('rename') },
          { label: t('action.merge'), onSelect: () => setOpen('merge') },
          { label: t(app.is_hidden ? 'action.show' : 'action.hide'), onSelect: () => hiding.mutate() },
        ]}
      />
      {open === 'rename' ? <RenameForm app={app} onClose={close} /> : null}
      {open === 'merge' ? (
        <MergeForm
          app={app}
          others={others}
          onClose={close}
          {...(onMerged === undefined ? {} : { onMerged })}
        />
      ) : null}
    </>
  );
}
