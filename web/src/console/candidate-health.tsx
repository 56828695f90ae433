import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { Status, type Tone } from '../ui/badge.tsx';

type Health = ResponseOf<'GET /console/api/now'>['candidates'][number];

const tones: Readonly<Record<Health['circuit'], Tone>> = {
  closed: 'good',
  due: 'warn',
  probing: 'warn',
  open: 'bad',
};

/** The circuit of a candidate and how long it is out of use, or how often in a row it failed. Its texts are of the page Now. */
export function CandidateHealth({ row }: { row: Health }) {
  const { t } = useTranslation('now');
  if (row.circuit === 'closed' && row.cool_down_s !== null)
    return <Status tone="warn">{t('coolDown', { seconds: row.cool_down_s })}</Status>;
  if (row.circuit === 'closed' && row.failures_in_a_row > 0)
    return <Status tone="warn">{t('failing', { count: row.failures_in_a_row })}</Status>;
  return (
    <Status tone={tones[row.circuit]}>
      {row.circuit === 'open' && row.probe_in_s !== null
        ? t('openFor', { seconds: row.probe_in_s })
        : t(`circuit.${row.circuit}`)}
    </Status>
  );
}
