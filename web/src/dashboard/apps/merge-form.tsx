import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { noAppId } from '../../apps/columns.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type NamedApp, useRefreshApps } from './app.ts';

export interface MergeFormProps {
  readonly app: NamedApp;
  readonly others: readonly NamedApp[];
  readonly onClose: () => void;
  readonly onMerged?: (target: NamedApp) => void;
}

/** Counts an app as another one on the own pages. */
export function MergeForm({ app, others, onClose, onMerged }: MergeFormProps) {
  const { t } = useTranslation('apps');
  const language = useLanguage();
  const refresh = useRefreshApps();
  const targets = others
    .filter(({ id }) => id !== app.id && id !== noAppId)
    .toSorted((a, b) => a.name.localeCompare(b.name, language));
  const [targetId, setTargetId] = useState(targets[0]?.id ?? noAppId);
  const [changeKey, setChangeKey] = useState(newChangeKey);
  const target = targets.find(({ id }) => id === targetId);
  const merging = useMutation({
    mutationFn: () =>
      change(
        'PATCH /dashboard/api/apps/{id}',
        { params: { id: String(app.id) }, body: { merged_into: targetId } },
        changeKey,
      ),
    onSuccess: () => {
      showToast({ tone: 'good', text: t('mergedNow', { name: app.name, target: target?.name ?? '' }) });
      onClose();
      if (target !== undefined) onMerged?.(target);
    },
    onSettled: refresh,
  });
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('mergeTitle', { name: app.name })}
      description={t(targets.length === 0 ? 'mergeNothing' : 'mergeText')}
      confirmText={t('action.merge')}
      isDisabled={target === undefined}
      isBusy={merging.isPending}
      error={merging.isError ? wordsOfError(merging.error, language, t) : undefined}
      onConfirm={() => merging.mutate()}
    >
      {targets.length === 0 ? null : (
        <Field label={t('mergeTarget')}>
          <Select
            value={String(targetId)}
            onChange={(event) => {
              setTargetId(Number(event.target.value));
              if (!merging.isError) return;
              merging.reset();
              setChangeKey(newChangeKey());
            }}
            options={targets.map(({ id, name }) => ({ value: String(id), label: name }))}
          />
        </Field>
      )}
    </ConfirmDialog>
  );
}
