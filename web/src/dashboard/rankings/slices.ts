import type { SeriesName } from './model-tokens.ts';

/** The slices of the model ranking. */
export const series = [
  'all',
  'modality:text',
  'modality:image',
  'modality:image_output',
  'modality:audio',
  'modality:tool_calling',
  'context_bucket:1K',
  'context_bucket:10K',
  'context_bucket:100K',
  'context_bucket:1M',
  'context_bucket:10M',
  'category:programming',
  'category:roleplay',
  'category:marketing',
  'category:marketing/seo',
  'category:technology',
  'category:science',
  'category:translation',
  'category:legal',
  'category:finance',
  'category:health',
  'category:trivia',
  'category:academia',
  'language_type:natural',
  'language_type:programming',
] as const satisfies readonly SeriesName[];

/** The kind and the value of a slice; no value for all traffic. */
export function sliceOf(name: string): { readonly kind: string; readonly of: string } {
  const [kind = '', of = ''] = name.split(':', 2);
  return { kind, of };
}

/** Whether the source has days of a slice: of categories and languages it has weeks. */
export function hasDays(name: string): boolean {
  return !/^(?:category|language_type):/.test(name);
}
