import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { showToast } from '../../ui/toast.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { Quarantined } from './data.ts';

/** What an operator wants to do with a rejected settlement. */
export interface Decision {
  readonly kind: 'retry' | 'writeOff';
  readonly row: Quarantined;
}

/** Settles a rejected settlement again, or writes it off; names the command that does the same. */
export function DecisionDialog({ decision, onClose }: { decision: Decision; onClose: () => void }) {
  const { t } = useTranslation('quarantine');
  const format = useFormat();
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const { kind, row } = decision;
  const stated = reason.trim();
  const request = { params: { id: row.id }, body: { reason: stated } };
  const act = async (changeKey: string): Promise<void> => {
    if (kind === 'writeOff') {
      await change('POST /console/api/quarantine/{id}/write-off', request, changeKey);
      showToast({ tone: 'good', text: t('writeOff.done') });
      return;
    }
    const outcome = await change('POST /console/api/quarantine/{id}/retry', request, changeKey);
    showToast(
      outcome.settled
        ? { tone: 'good', text: t('retry.done') }
        : { tone: 'bad', text: t('retry.rejected', { reason: outcome.reason }) },
    );
  };
  return (
    <ActDialog
      title={t(`${kind}.title`)}
      description={`${row.account.name} · ${format.money(row.cost_micro)} · ${row.id}`}
      confirmText={t(`${kind}.button`)}
      isDangerous={kind === 'writeOff'}
      values={[kind, row.id, stated]}
      isValid={stated !== ''}
      onInvalid={() => setIsTried(true)}
      act={act}
      done={null}
      onClose={onClose}
    >
      <p className="text-sm text-muted">{t(`${kind}.text`)}</p>
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
      <CodeBlock
        label={t('command')}
        code={
          kind === 'retry'
            ? `naru ledger retry --generation ${row.id}`
            : `naru ledger write-off --generation ${row.id} --reason ${quoted(stated)}`
        }
        isWrapped
      />
    </ActDialog>
  );
}

/** As a shell reads one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
