import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Menu } from '../../ui/menu.tsx';
import { showToast } from '../../ui/toast.tsx';
import { Tooltip } from '../../ui/tooltip.tsx';

/** What lies above the page: dialogs, menus, tooltips, toasts. */
export function OverlayExamples() {
  const { t } = useTranslation('components');
  const [open, setOpen] = useState<'dialog' | 'confirm' | null>(null);
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setOpen('dialog')}>{t('openDialog')}</Button>
      <Button onClick={() => setOpen('confirm')}>{t('openConfirm')}</Button>
      <Menu
        trigger={<Button icon="more">{t('openMenu')}</Button>}
        align="start"
        items={[
          { label: t('edit'), icon: 'gear', onSelect: () => {} },
          { label: t('off'), icon: 'pause', isDisabled: true, onSelect: () => {} },
          { kind: 'line' },
          { label: t('revoke'), icon: 'trash', isDangerous: true, onSelect: () => setOpen('confirm') },
        ]}
      />
      <Tooltip text={t('tooltipText')}>
        <Button variant="quiet">{t('tooltip')}</Button>
      </Tooltip>
      <Button onClick={() => showToast({ text: t('toastGood') })}>{t('showToast')}</Button>
      <Button onClick={() => showToast({ tone: 'bad', text: t('toastBad') })}>{t('showErrorToast')}</Button>
      <Dialog
        isOpen={open === 'dialog'}
        onOpenChange={() => setOpen(null)}
        title={t('dialogTitle')}
        description={t('dialogText')}
        footer={
          <>
            <Button onClick={() => setOpen(null)}>{t('common:cancel')}</Button>
            <Button variant="primary" onClick={() => setOpen(null)}>
              {t('common:save')}
            </Button>
          </>
        }
      >
        <Field label={t('name')} className="my-2">
          <Input />
        </Field>
      </Dialog>
      <ConfirmDialog
        isOpen={open === 'confirm'}
        onOpenChange={() => setOpen(null)}
        title={t('confirmTitle')}
        description={t('confirmText')}
        confirmText={t('revoke')}
        typeToConfirm="batch"
        isDangerous
        onConfirm={() => setOpen(null)}
      />
    </div>
  );
}
