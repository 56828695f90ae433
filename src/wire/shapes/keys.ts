import { z } from 'zod';
import { requirements } from '../../errors/messages.ts';
import { krwFromNumber } from '../../money/krw.ts';
import { parseInstant } from '../../time/clock.ts';
import { limitResets } from '../../time/period.ts';
import { isStorableName, maxNameLength, showsSomething } from '../ids/name.ts';
import { maxima } from '../maxima.ts';
import { must, reading } from '../parse-with.ts';
import { instant, won } from './common.ts';

const limitReset = z.enum(limitResets).describe('Periods are in Korean time (KST)');

const spending = {
  limit: won.nullable().describe('Null: no limit'),
  limit_remaining: won.nullable(),
  limit_reset: limitReset,
  usage: won.describe('Spend in the current limit period'),
  usage_daily: won,
  usage_weekly: won,
  usage_monthly: won,
  byok_usage: z.literal(0),
  byok_usage_daily: z.literal(0),
  byok_usage_weekly: z.literal(0),
  byok_usage_monthly: z.literal(0),
  include_byok_in_limit: z.literal(false),
};

const maxAllowedNames = 100;
const maxPerMinute = 1_000_000;
const names = { error: must(requirements.allowedNames(maxAllowedNames)) };
const perMinute = { error: must(requirements.integer(1, maxPerMinute)) };
const allowedNames = z
  .array(z.string().max(maxima.name), names)
  .min(1, names)
  .max(maxAllowedNames, names)
  .nullable();

/** What a key may use (spec:api/21); null: everything. */
export const restrictionShapes = {
  allowed_models: allowedNames.describe('Model ids, or beginnings of ids such as `openai/*`'),
  allowed_providers: allowedNames.describe('Providers, named as in `provider.only`'),
  rpm_limit: z
    .number(perMinute)
    .int(perMinute)
    .min(1, perMinute)
    .max(maxPerMinute, perMinute)
    .nullable()
    .describe('Requests per minute'),
};

/** The restrictions of a body: what is absent does not change. */
export const requestedRestrictions = z.object(restrictionShapes).partial().shape;

/** The restrictions that a body states. */
export function restrictionsIn(body: z.output<z.ZodObject<typeof requestedRestrictions>>) {
  const { allowed_models, allowed_providers, rpm_limit } = body;
  return { allowed_models, allowed_providers, rpm_limit };
}

/** The key object (spec:api/5). */
export const keyShape = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  label: z.string(),
  name: z.string(),
  disabled: z.boolean(),
  ...spending,
  ...restrictionShapes,
  created_at: instant,
  updated_at: instant.nullable(),
  expires_at: instant.nullable(),
  creator_user_id: z.null(),
  workspace_id: z.uuid(),
  external_user: z.null(),
});

/** `POST /keys`: the only response with the plaintext key. */
export const createdKeyShape = z.strictObject({ data: keyShape, key: z.string() });

/** `DELETE /keys/{hash}`. */
export const deletedKeyShape = z.strictObject({
  data: z.strictObject({ success: z.literal(true) }),
  deleted: z.literal(true),
});

/** A name with something to see. */
export const visibleName = z
  .string()
  .min(1, { error: must(requirements.notEmpty) })
  .max(maxNameLength, { error: must(requirements.storableName(maxNameLength)) })
  .refine(showsSomething, { error: must(requirements.notEmpty) })
  .refine(isStorableName, { error: must(requirements.storableName(maxNameLength)) });

/**
 * Null is no limit; 0 refuses every request; more than six decimals are rounded half up
 * (spec:money/1.5,7.3,7.4).
 */
const requestedLimit = reading(
  z
    .number({ error: must(requirements.spendLimit) })
    .min(0, { error: must(requirements.spendLimit) })
    .max(1e15, { error: must(requirements.spendLimit) }),
  // The sign is checked before rounding: a negative limit is invalid, however near to zero.
  (won) => (Object.is(won, -0) ? null : krwFromNumber(won)),
  requirements.spendLimit,
).nullable();

const requestedReset = z
  .enum(limitResets, { error: must(requirements.nullOrOneOf(limitResets)) })
  .nullable()
  .describe('Periods are in Korean time (KST); null: never');

/** A past instant is valid too, as in OpenRouter: the key is then created expired. */
export const requestedExpiry = reading(
  z.string({ error: must(requirements.nullOrInstant) }).meta({ format: 'date-time' }),
  parseInstant,
  requirements.nullOrInstant,
).nullable();

/** The body of `POST /keys` (spec:api/7.2), as the settings of a new key. */
export const newKeyShape = z
  .object({
    name: visibleName,
    limit: requestedLimit.optional(),
    limit_reset: requestedReset.optional(),
    expires_at: requestedExpiry.optional(),
    ...requestedRestrictions,
  })
  .transform(({ name, limit, limit_reset, expires_at, ...restrictions }) => ({
    name,
    limit: limit ?? null,
    limitReset: limit_reset ?? 'never',
    expiresAtMs: expires_at ?? null,
    restrictions,
  }));

/**
 * The body of `PATCH /keys/{hash}` (spec:api/6.4), as the settings that change: absent members keep
 * their value; null removes the limit.
 */
export const keyChangeShape = z
  .object({
    name: visibleName.optional(),
    disabled: z.boolean().optional(),
    limit: requestedLimit.optional(),
    limit_reset: requestedReset.optional(),
    ...requestedRestrictions,
  })
  .transform(({ name, disabled, limit, limit_reset, ...restrictions }) => ({
    ...(name === undefined ? {} : { name }),
    ...(disabled === undefined ? {} : { userDisabled: disabled }),
    ...(limit === undefined ? {} : { limitMicro: limit }),
    ...(limit_reset === undefined ? {} : { limitReset: limit_reset ?? ('never' as const) }),
    ...(Object.keys(restrictions).length === 0 ? {} : { restrictions }),
  }));

/** `GET /key` (spec:api/9). */
export const keyInformationShape = z.strictObject({
  label: z.string(),
  ...spending,
  is_free_tier: z.literal(false),
  is_management_key: z.boolean(),
  is_provisioning_key: z.boolean(),
  creator_user_id: z.null(),
  organization_id: z.null(),
  workspace_id: z.uuid(),
  allowed_data_regions: z.array(z.string()),
  free_model_daily_requests: z.strictObject({ limit: z.int(), remaining: z.int(), used: z.int() }),
  expires_at: instant.nullable(),
  rate_limit: z
    .strictObject({ requests: z.int(), interval: z.string(), note: z.string() })
    .describe('A constant; not enforced'),
});

/** `GET /credits` (spec:api/10). */
export const creditsShape = z.strictObject({
  total_credits: won.describe('All credit ever added'),
  total_usage: won.describe('All credit deducted or expired'),
});
