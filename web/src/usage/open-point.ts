import { useCallback } from 'react';
import { useNavigate } from '../app/link.tsx';
import { seoulDay } from '../format/time.ts';
import { endOfStep, type Step } from './series.ts';
import type { UsageSource } from './usage-source.ts';

/**
 * Leads from a point of a chart to the requests behind it: those of its days, with the filters of the
 * page.
 */
export function useOpenPoint(source: UsageSource): (fromMs: number, step: Step) => void {
  const navigate = useNavigate();
  return useCallback(
    (fromMs, step) => {
      const days = {
        range: 'custom',
        from: seoulDay(fromMs),
        to: seoulDay(endOfStep(fromMs, step) - 1),
        ...(typeof source === 'object' ? { tab: 'requests' } : {}),
      };
      void navigate({
        to: typeof source === 'object' ? '.' : '/requests',
        search: (before) => ({ ...before, ...days }),
      });
    },
    [navigate, source],
  );
}
