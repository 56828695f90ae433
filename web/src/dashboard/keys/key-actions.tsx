import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Checkbox, Field, Select } from '../../ui/field.tsx';
import { Menu } from '../../ui/menu.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { Created } from './created-key.tsx';
import { isRevokedMeanwhile, type KeyRow, keysQueryKey } from './key.ts';
import { KeyForm } from './key-form.tsx';

type Open = 'edit' | 'rotate' | 'revoke' | null;

const hourMs = 3_600_000;
/** How long the old key goes on working after a rotation. */
const graces = { now: 0, hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs } as const;
type Grace = keyof typeof graces;

/** Everything that can be done with one key. What cannot be undone asks for its name. */
export function KeyActions({ row, onCreated }: { row: KeyRow; onCreated: (created: Created) => void }) {
  const { t } = useTranslation('keys');
  const language = useLanguage();
  const queries = useQueryClient();
  const [open, setOpen] = useState<Open>(null);
  const [grace, setGrace] = useState<Grace>('day');
  const [endsCalls, setEndsCalls] = useState(false);
  const [changeKey, setChangeKey] = useState(newChangeKey);
  const params = { hash: row.hash };
  const refresh = () => queries.invalidateQueries({ queryKey: keysQueryKey });
  const failed = (error: Error): void => showToast({ tone: 'bad', text: wordsOfError(error, language, t) });
  const show = (next: Open): void => {
    setOpen(next);
    setEndsCalls(false);
    setChangeKey(newChangeKey());
  };
  const switching = useMutation({
    mutationFn: () =>
      change('PATCH /dashboard/api/keys/{hash}', { params, body: { switched_off: !row.switched_off } }),
    onError: failed,
    onSettled: refresh,
  });
  const revoking = useMutation({
    mutationFn: () =>
      change(
        'DELETE /dashboard/api/keys/{hash}',
        { params, query: endsCalls ? { now: 'true' } : {} },
        changeKey,
      ),
    onSuccess: () => {
      show(null);
      showToast({ tone: 'good', text: t('revoked', { name: row.name }) });
    },
    onSettled: refresh,
  });
  const rotating = useMutation({
    mutationFn: () =>
      change(
        'POST /dashboard/api/keys/{hash}/rotate',
        {
          params,
          body: { ends_at: grace === 'now' ? null : new Date(Date.now() + graces[grace]).toISOString() },
        },
        changeKey,
      ),
    onSuccess: (created) => {
      show(null);
      onCreated(created);
    },
    onError: (error) => (isRevokedMeanwhile(error) ? failed(error) : undefined),
    onSettled: refresh,
  });
  const errorOf = (error: Error | null) => (error === null ? undefined : wordsOfError(error, language, t));
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" size="sm" label={t('actionsOf', { name: row.name })} />}
        items={[
          { label: t('action.edit'), onSelect: () => show('edit') },
          {
            label: t(row.switched_off ? 'action.enable' : 'action.disable'),
            onSelect: () => switching.mutate(),
          },
          { label: t('action.rotate'), onSelect: () => show('rotate') },
          { label: t('action.revoke'), isDangerous: true, onSelect: () => show('revoke') },
        ]}
      />
      {open === 'edit' ? <KeyForm kind={row.kind} row={row} onClose={() => show(null)} /> : null}
      <ConfirmDialog
        isOpen={open === 'revoke'}
        onOpenChange={(isOpen) => show(isOpen ? 'revoke' : null)}
        title={t('revokeTitle', { name: row.name })}
        description={t('revokeText')}
        confirmText={t('action.revoke')}
        typeToConfirm={row.name}
        isDangerous
        isBusy={revoking.isPending}
        error={errorOf(revoking.error)}
        onConfirm={() => revoking.mutate()}
      >
        <Checkbox
          label={t('endsCalls')}
          hint={t('endsCallsHint')}
          checked={endsCalls}
          onChange={({ target }) => {
            setEndsCalls(target.checked);
            // Another change, with a key of its own.
            setChangeKey(newChangeKey());
          }}
        />
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={open === 'rotate'}
        onOpenChange={(isOpen) => show(isOpen ? 'rotate' : null)}
        title={t('rotateTitle', { name: row.name })}
        description={t('rotateText')}
        confirmText={t('action.rotate')}
        isBusy={rotating.isPending}
        error={errorOf(rotating.error)}
        onConfirm={() => rotating.mutate()}
      >
        <Field label={t('grace')}>
          <Select
            value={grace}
            onChange={({ target }) => setGrace(target.value as Grace)}
            options={(Object.keys(graces) as Grace[]).map((value) => ({
              value,
              label: t(`graces.${value}`),
            }))}
          />
        </Field>
      </ConfirmDialog>
    </>
  );
}
