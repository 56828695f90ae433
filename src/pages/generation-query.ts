import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import type { ListingFilter } from '../generations/search-sql.ts';
import { integerText, listText, maxEntries, parameter } from '../wire/shapes/query.ts';
import { instantText } from './shapes.ts';

/** A comma-separated list of integers between two bounds. */
function integersText(min: number, max: number) {
  const one = new RegExp(`^\\d{1,${String(max).length}}$`);
  return parameter(
    (text) => {
      const entries = text
        .split(',', maxEntries + 1)
        .map((entry) => (one.test(entry.trim()) ? Number(entry) : Number.NaN));
      const isValid = entries.length <= maxEntries && entries.every((entry) => entry >= min && entry <= max);
      return isValid ? entries : null;
    },
    requirements.integer(min, max),
    { type: 'string', pattern: `^\\d{1,15}(?:,\\d{1,15}){0,${maxEntries - 1}}$` },
  );
}

/** What every list of requests is filtered by; of a comma-separated list any value is accepted. */
export const listingQueryShape = {
  outcome: z.enum(['ok', 'failed', 'cancelled']).optional(),
  status: integersText(100, 599).optional(),
  error_type: listText().optional(),
  model: listText().optional().describe('Models that responded or, where none did, were requested first'),
  provider: listText().optional(),
  finish_reason: listText().optional(),
};

/** A list of requests, which finds one, or filters by time and by what they are. */
export const requestListShape = {
  find: z.string().min(1).max(300).optional().describe('The ID of a generation or of a request'),
  from: instantText.optional(),
  to: instantText.optional(),
  ...listingQueryShape,
  cursor: z.string().max(200).optional(),
  limit: integerText(1, 500).default(100),
};

/** What requests state of themselves: of each one value, since a value may have commas. */
export const statedQueryShape = {
  user: z.string().min(1).max(500).optional().describe('The `user` of requests'),
  tag: z.string().min(1).max(64).optional().describe('A member of the `metadata` of requests'),
  tag_value: z.string().min(1).max(512).optional().describe('The value of the member that `tag` names'),
};
const statedQuery = z.object(statedQueryShape);

/** The tag and the value of the parameters; null: none. Refuses a value without its tag. */
export function tagOf({
  tag,
  tag_value: value,
}: z.output<typeof statedQuery>): { readonly name: string; readonly value: string } | null {
  if (value === undefined) return null;
  if (tag === undefined) throw refuse('invalid_request', messages.missing('tag'));
  return { name: tag, value };
}

const hashes = new RegExp(`^[0-9a-f]{64}(?:,[0-9a-f]{64}){0,${maxEntries - 1}}$`);

/** What the requests of one account are filtered by beside. */
export const ownListingQueryShape = {
  key: parameter((text) => (hashes.test(text) ? text.split(',') : null), requirements.documented, {
    pattern: hashes.source,
  })
    .optional()
    .describe('Hashes of keys'),
  app: integersText(0, 999_999_999_999_999)
    .optional()
    .describe('IDs of apps, with their merged apps; 0: no app'),
  ...statedQueryShape,
};

const listingQuery = z.object(listingQueryShape);

/** The filter of the parameters. */
export function listingFilterOf(query: z.output<typeof listingQuery>): ListingFilter {
  return {
    outcome: query.outcome ?? null,
    statuses: query.status ?? null,
    errorTypes: listed(query.error_type),
    models: listed(query.model),
    providers: listed(query.provider),
    finishReasons: listed(query.finish_reason),
  };
}

function listed(values: readonly string[] | undefined): readonly string[] | null {
  return values === undefined || values.length === 0 ? null : values;
}
