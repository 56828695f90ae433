import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Candidate } from './data.ts';

const tones = { works: 'good', fails: 'bad', untried: 'neutral' } as const;

/** Calls a candidate with real requests, and shows what it can do. */
export function TestDialog({ candidate, onClose }: { candidate: Candidate; onClose: () => void }) {
  const { t } = useTranslation('candidates');
  const format = useFormat();
  const language = useLanguage();
  const [changeKey] = useState(newChangeKey);
  const body = { model: candidate.model, candidate: candidate.candidate };
  const testing = useMutation({
    mutationFn: () => change('POST /console/api/candidates/test', { body }, changeKey),
  });
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('test.title')}
      description={`${candidate.model} · ${candidate.candidate}`}
      footer={
        <>
          <Button onClick={onClose}>{t('common:close')}</Button>
          {testing.data === undefined ? (
            <Button variant="primary" isBusy={testing.isPending} onClick={() => testing.mutate()}>
              {t('test.run')}
            </Button>
          ) : null}
        </>
      }
    >
      {testing.data === undefined ? (
        <p className="py-2 text-sm">{t('test.warning')}</p>
      ) : (
        <ul className="flex flex-col text-sm">
          {testing.data.items.map(({ probe, outcome, took_ms: tookMs, status, reason }) => (
            <li key={probe} className="flex flex-wrap items-baseline gap-x-3 border-b py-2 last:border-b-0">
              <span className="w-32 font-medium">{t(`probe.${probe}`)}</span>
              <Status tone={tones[outcome]}>{t(`outcome.${outcome}`)}</Status>
              <span className="flex-1 text-right text-muted">
                {[status, tookMs === null ? null : format.duration(tookMs)]
                  .filter((one) => one !== null)
                  .join(' · ')}
              </span>
              {reason === null ? null : (
                <span className="w-full text-xs break-words text-muted">{reason}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {testing.error === null ? null : (
        <p role="alert" className="py-2 text-sm text-bad">
          {wordsOfError(testing.error, language, t)}
        </p>
      )}
    </Dialog>
  );
}
