import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, urlOf } from '../../api/client.ts';
import { DownloadButton } from '../../app/download-button.tsx';
import { useNavigate } from '../../app/link.tsx';
import { useConfirmed } from '../../settings/confirmed.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { Profile } from './profile.ts';

/** What is stored about the person: as a file, and its deletion. */
export function PersonalData({ profile }: { profile: Profile }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, setIsOpen] = useState(false);
  const deleting = useConfirmed({
    hasPassword: profile.has_password,
    run: (_: null, confirmation) => change('DELETE /dashboard/api/personal-data', { body: confirmation }),
    onSuccess: () => {
      queries.clear();
      showToast({ tone: 'good', text: t('deleted') });
      void navigate({ to: '/sign-in' });
    },
  });
  return (
    <div className="flex max-w-150 flex-col gap-3">
      <p className="text-sm text-muted">{t('dataText')}</p>
      <div className="flex flex-wrap gap-2">
        <DownloadButton url={urlOf('GET /dashboard/api/personal-data', {})}>{t('download')}</DownloadButton>
        <Button icon="trash" onClick={() => setIsOpen(true)}>
          {t('delete')}
        </Button>
      </div>
      <ConfirmDialog
        isOpen={isOpen && deleting.dialog === null}
        onOpenChange={setIsOpen}
        title={t('deleteTitle')}
        description={t('deleteText')}
        confirmText={t('delete')}
        typeToConfirm={profile.email}
        isDangerous
        isBusy={deleting.isPending}
        error={deleting.error}
        onConfirm={() => deleting.start(null)}
      />
      {deleting.dialog}
    </div>
  );
}
