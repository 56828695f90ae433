import { z } from 'zod';
import { instant, won } from './common.ts';

const limitReset = z
  .enum(['never', 'daily', 'weekly', 'monthly'])
  .describe('Periods are those of Asia/Seoul');

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

/** The key object (spec:api/5). */
export const keyShape = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  label: z.string(),
  name: z.string(),
  disabled: z.boolean(),
  ...spending,
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

const requestedLimit = z.number().min(0).max(1e15).nullable();
const requestedReset = limitReset.nullable();

/** The body of `POST /keys`. */
export const newKeyShape = z.looseObject({
  name: z.string().min(1).max(500),
  limit: requestedLimit.optional(),
  limit_reset: requestedReset.optional(),
  expires_at: z.iso.datetime({ offset: true }).nullable().optional(),
});

/** The body of `PATCH /keys/{hash}`: absent members keep their value; null removes the limit. */
export const keyChangeShape = z.looseObject({
  name: z.string().min(1).max(500).optional(),
  disabled: z.boolean().optional(),
  limit: requestedLimit.optional(),
  limit_reset: requestedReset.optional(),
});

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
