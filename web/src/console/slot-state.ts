import type { Tone } from '../ui/badge.tsx';

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
