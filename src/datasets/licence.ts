import { isoOf } from '../time/clock.ts';

/**
 * The attribution that the source's licence requires with its data: its name, the page and the time
 * (spec:api/19.4; OpenRouter's description of its datasets: CC BY 4.0). `null` for samples.
 */
export interface Attribution {
  readonly citation: string | null;
  readonly license: string | null;
  readonly license_url: string | null;
}

/** For sample rows, and for no rows. */
export const noAttribution: Attribution = { citation: null, license: null, license_url: null };

/** For rows of the source as of an instant. `page`: the page of the source with the same data. */
export function attributionOf(page: 'apps' | 'rankings', asOfMs: number): Attribution {
  return {
    citation: `Source: OpenRouter (openrouter.ai/${page}), as of ${isoOf(asOfMs)}.`,
    license: 'CC BY 4.0',
    license_url: 'https://creativecommons.org/licenses/by/4.0/',
  };
}
