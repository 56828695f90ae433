import { useTranslation } from 'react-i18next';
import { Status, type Tone } from '../ui/badge.tsx';

const tones: Readonly<Record<string, Tone>> = {
  READY: 'good',
  ADMITTING: 'warn',
  STARTING: 'warn',
  WARMING: 'warn',
  DRAINING: 'warn',
  STOPPING: 'warn',
  RECLAIMING: 'warn',
  BACKOFF: 'bad',
  FAILED: 'bad',
};

/** What a state of a slot means. */
export function toneOfSlot(state: string): Tone {
  return tones[state] ?? 'neutral';
}

/** The state of a slot, and how often in a row its engine did not start, or crashed. */
export function SlotState({ slot: { state, failures } }: { slot: { state: string; failures: number } }) {
  const { t } = useTranslation('slots');
  return (
    <Status tone={failures > 0 ? 'bad' : toneOfSlot(state)}>
      {t(`state.${state}`)}
      {failures > 0 ? ` · ${t('failures', { count: failures })}` : ''}
    </Status>
  );
}
