import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { ActionButton } from '../../app/permission.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { Slot } from './data.ts';

/** Start, stop and pin. Stopping asks first, because requests may be in flight. */
export function SlotActs({ slot }: { slot: Slot }) {
  const { t } = useTranslation('slots');
  const language = useLanguage();
  const [stopKey, setStopKey] = useState<string | null>(null);
  const [reason, setReason] = useState('');
  const params = { name: slot.name };
  const onError = (error: Error): void => showToast({ tone: 'bad', text: wordsOfError(error, language, t) });
  const starting = useMutation({
    mutationFn: () => change('POST /console/api/slots/{name}/start', { params, body: {} }),
    onSuccess: () => showToast({ tone: 'good', text: t('started', params) }),
    onError,
  });
  const pinning = useMutation({
    mutationFn: () =>
      change('POST /console/api/slots/{name}/pin', { params, body: { pinned: !slot.pinned } }),
    onSuccess: ({ pinned }) =>
      showToast({ tone: 'good', text: t(pinned ? 'isPinned' : 'isUnpinned', params) }),
    onError,
  });
  const stopping = useMutation({
    mutationFn: () =>
      change(
        'POST /console/api/slots/{name}/stop',
        { params, body: reason.trim() === '' ? {} : { reason: reason.trim() } },
        stopKey ?? newChangeKey(),
      ),
    onSuccess: () => {
      setStopKey(null);
      showToast({ tone: 'good', text: t('stopped', params) });
    },
  });
  if (slot.driver === 'external') return <span className="text-xs text-muted">{t('external')}</span>;
  return (
    <span className="inline-flex gap-1">
      <ActionButton
        needs="admin"
        size="sm"
        icon="play"
        isBusy={starting.isPending}
        onClick={() => starting.mutate()}
      >
        {t('act.start')}
      </ActionButton>
      <ActionButton needs="admin" size="sm" icon="pause" onClick={() => setStopKey(newChangeKey())}>
        {t('act.stop')}
      </ActionButton>
      <ActionButton
        needs="admin"
        size="sm"
        icon={slot.pinned ? 'close' : 'lock'}
        isBusy={pinning.isPending}
        onClick={() => pinning.mutate()}
      >
        {t(slot.pinned ? 'act.unpin' : 'act.pin')}
      </ActionButton>
      <ConfirmDialog
        isOpen={stopKey !== null}
        onOpenChange={(isOpen) => setStopKey(isOpen ? newChangeKey() : null)}
        title={t('stopTitle', params)}
        description={t('stopText', { count: slot.in_flight })}
        confirmText={t('act.stop')}
        isDangerous
        isBusy={stopping.isPending}
        error={stopping.error === null ? undefined : wordsOfError(stopping.error, language, t)}
        onConfirm={() => stopping.mutate()}
      >
        <Field label={t('reason')} optionalText={t('common:optional')}>
          <Input value={reason} onChange={({ target }) => setReason(target.value)} maxLength={500} />
        </Field>
      </ConfirmDialog>
    </span>
  );
}
