import type { CompletionRequest } from '../wire/chat.ts';

/**
 * The most that one image may be counted as. The highest count that is known: `gpt-4o-mini` counts
 * 2,833 and 5,667 for each of at most eight tiles (OpenAI, "Images and vision", calculating costs),
 * and may so count more than its context.
 */
const maxTokensPerImage = 50_000;

/**
 * The most tokens that the media of a request may be counted as. Recordings, films and documents
 * are limited by the context: neither their duration nor their pages are known.
 */
export function maxMediaTokens(
  { inputs, mediaParts }: Pick<CompletionRequest, 'inputs' | 'mediaParts'>,
  contextLength: number,
): number {
  const images = mediaParts * maxTokensPerImage;
  for (const input of inputs) if (input !== 'image') return images + contextLength;
  return images;
}
