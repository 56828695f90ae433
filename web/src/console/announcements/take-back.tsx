import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { ActDialog } from '../acts/act-dialog.tsx';
import type { Announcement } from './data.ts';

/** Takes an announcement back: it is not shown any more. */
export function TakeBack({ row, onClose }: { row: Announcement; onClose: () => void }) {
  const { t } = useTranslation('announcements');
  return (
    <ActDialog
      title={t('takeBackTitle')}
      description={t('takeBackText')}
      confirmText={t('takeBack')}
      isDangerous
      values={[String(row.id)]}
      isValid
      act={(changeKey) =>
        change('POST /console/api/announcements/{id}/end', { params: { id: String(row.id) } }, changeKey)
      }
      done={t('takenBack')}
      onClose={onClose}
    >
      <p>{row.text.ko}</p>
      <p className="text-sm text-muted">{row.text.en}</p>
    </ActDialog>
  );
}
