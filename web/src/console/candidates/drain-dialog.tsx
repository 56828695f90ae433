import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';

/** A candidate, and the state that it is to have. */
export interface WantedDrain {
  readonly model: string;
  readonly candidate: string;
  readonly drained: boolean;
}

/** Sends a candidate no new requests, or sends it requests again. */
export function DrainDialog({ wanted, onClose }: { wanted: WantedDrain; onClose: () => void }) {
  const { t } = useTranslation('candidates');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const { model, candidate, drained } = wanted;
  const act = drained ? 'drain' : 'resume';
  return (
    <ActDialog
      title={t(`${act}.title`)}
      description={`${model} · ${candidate}`}
      confirmText={t(`${act}.button`)}
      isDangerous={drained}
      values={[act, model, candidate, reason.trim()]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/candidates/drain',
          { body: { model, candidate, drained, reason: reason.trim() } },
          changeKey,
        )
      }
      done={t(`${act}.done`, { candidate })}
      onClose={onClose}
    >
      <p className="text-sm text-muted">{t(`${act}.text`)}</p>
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}
