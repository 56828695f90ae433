import { isoOf } from '../time/clock.ts';

/**
 * What the source's licence asks of whoever shows its data again: its name, the place and the time (spec:api/19.4; OpenRouter's
 * description of its datasets: CC BY 4.0). `null` for samples, which are nobody's.
 */
export interface Attribution {
  readonly citation: string | null;
  readonly license: string | null;
  readonly license_url: string | null;
}

/** For rows that are invented, and for no rows. */
export const noAttribution: Attribution = { citation: null, license: null, license_url: null };

/** For rows of the source as of an instant. `place`: the page of the source that shows the same. */
export function attributionOf(position: 'apps' | 'rankings', asOfMs: number): Attribution {
  return {
    citation: `Source: OpenRouter (openrouter.ai/${position}), as of ${isoOf(asOfMs)}.`,
    license: 'CC BY 4.0',
    license_url: 'https://creativecommons.org/licenses/by/4.0/',
  };
}
