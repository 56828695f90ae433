/** Ways to slice the model ranking, with the values that OpenRouter knows (spec:compat/11). */
export const modalities = ['text', 'image', 'image_output', 'audio', 'tool_calling'] as const;
export const contextBuckets = ['1K', '10K', '100K', '1M', '10M'] as const;
export const languageTypes = ['natural', 'programming'] as const;
export const useCases = [
  'programming',
  'roleplay',
  'marketing',
  'marketing/seo',
  'technology',
  'science',
  'translation',
  'legal',
  'finance',
  'health',
  'trivia',
  'academia',
] as const;

/** A series of the model ranking: all traffic, or a slice of it. */
export interface Series<Name extends string = string> {
  readonly name: Name;
  /** The finest grain that the source publishes. */
  readonly grain: 'day' | 'week';
  /** The query parameters of the source. */
  readonly query: Readonly<Record<string, string>>;
}

/**
 * Every series that is synced; the first is all traffic. Weeks and months of the daily ones are
 * sums of days.
 */
export const allSeries = [
  { name: 'all', grain: 'day', query: {} },
  ...modalities.map((modality) => daily('modality', modality)),
  ...contextBuckets.map((bucket) => daily('context_bucket', bucket)),
  ...useCases.map((category) => weekly('category', category)),
  ...languageTypes.map((type) => weekly('language_type', type)),
] as const satisfies readonly Series[];

/** The name of a slice. */
export function sliceName<P extends string, V extends string>(parameter: P, value: V) {
  return `${parameter}:${value}` as const;
}

function daily<P extends string, V extends string>(parameter: P, value: V): Series<`${P}:${V}`> {
  return { name: sliceName(parameter, value), grain: 'day', query: { [parameter]: value } };
}

function weekly<P extends string, V extends string>(parameter: P, value: V): Series<`${P}:${V}`> {
  return { name: sliceName(parameter, value), grain: 'week', query: { [parameter]: value, period: 'week' } };
}
