import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Checkbox } from '../../ui/field.tsx';
import { Banner, EmptyState } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { showToast } from '../../ui/toast.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import { useChangeColumns } from './columns.tsx';
import { RateChanges } from './rate-changes.tsx';

type File = ResponseOf<'GET /console/api/prices'>['file'];

/** What the file has that is not published: each price before and after, and the act of publishing it. */
export function Pending({ file }: { file: File }) {
  const { t } = useTranslation('prices');
  const format = useFormat();
  const [isPublishing, setIsPublishing] = useState(false);
  const [isChecked, setIsChecked] = useState(false);
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const columns = useChangeColumns();
  const { digest, changes, fault } = file;
  const large = changes.filter((one) => one.is_large);
  const publish = async (changeKey: string): Promise<void> => {
    if (digest === null) return;
    const body = { digest, confirm_large: isChecked, reason: reason.trim() };
    const { not_taken: late } = await change('POST /console/api/prices/publish', { body }, changeKey);
    if (late.length === 0) showToast({ tone: 'good', text: t('published') });
    else showToast({ tone: 'bad', text: t('notTaken', { nodes: late.join(', ') }) });
  };
  const count = format.count(changes.length);
  return (
    <Section
      title={t('pending')}
      note={t('pendingNote')}
      actions={
        changes.length === 0 || digest === null ? null : (
          <ActionButton needs="admin" variant="primary" onClick={() => setIsPublishing(true)}>
            {t('publish', { shown: count })}
          </ActionButton>
        )
      }
    >
      {fault !== null ? (
        <>
          <Banner tone="bad">{t('faulty')}</Banner>
          <pre className="overflow-x-auto rounded-md bg-subtle px-3 py-2 text-xs whitespace-pre-wrap">
            {fault}
          </pre>
        </>
      ) : (
        <DataTable
          id="price-changes"
          label={t('pending')}
          columns={columns}
          rows={changes}
          rowId={({ model, candidate }) => `${model} ${candidate}`}
          empty={<EmptyState icon="checkCircle" title={t('noChanges')} />}
        />
      )}
      {isPublishing && digest !== null ? (
        <ActDialog
          title={t('publishTitle', { shown: count })}
          description={t('publishText')}
          confirmText={t('publishNow')}
          size="lg"
          values={[digest, String(isChecked), reason]}
          isValid={reason.trim() !== '' && (large.length === 0 || isChecked)}
          onInvalid={() => setIsTried(true)}
          act={publish}
          done={null}
          onClose={() => setIsPublishing(false)}
        >
          <RateChanges changes={changes} />
          <ReasonField value={reason} onChange={setReason} isTried={isTried} />
          {large.length === 0 ? null : (
            <Checkbox
              label={t('confirmLarge', { shown: format.count(large.length) })}
              checked={isChecked}
              onChange={(event) => setIsChecked(event.target.checked)}
            />
          )}
        </ActDialog>
      ) : null}
    </Section>
  );
}
