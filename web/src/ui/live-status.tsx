import { useTranslation } from 'react-i18next';
import type { LiveState } from '../api/live.ts';
import { Status, type Tone } from './badge.tsx';
import { StaleNote } from './states.tsx';

const tones: Readonly<Record<LiveState, Tone>> = {
  off: 'neutral',
  connecting: 'neutral',
  live: 'good',
  lost: 'bad',
  full: 'warn',
};

/** Whether a live view receives events; how old its data is when it does not. */
export function LiveStatus({ state, updatedMs }: { state: LiveState; updatedMs: number | null }) {
  const { t } = useTranslation();
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 text-sm" role="status">
      <Status
        isLong={state === 'lost' || state === 'full'}
        tone={tones[state]}
        {...(state === 'live' ? { icon: 'live' as const } : {})}
      >
        {t(`liveState.${state}`)}
      </Status>
      {state === 'live' || updatedMs === null ? null : (
        <StaleNote updatedMs={updatedMs} isFailing={state === 'lost' || state === 'full'} />
      )}
    </span>
  );
}
