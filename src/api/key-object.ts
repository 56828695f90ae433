import type { KeyWithSpend } from '../accounts/key-service.ts';
import { restrictionsOf } from '../accounts/keys.ts';
import { isDisabled } from '../accounts/rules.ts';
import { usedOf } from '../accounts/spend.ts';
import { krwOfMicro, krwToNumber } from '../money/krw.ts';
import { isoOf } from '../time/clock.ts';

/** OpenRouter groups keys in workspaces named by a UUID; here each account is one workspace. */
export function workspaceIdOf(accountId: number): string {
  return `00000000-0000-4000-8000-${accountId.toString(16).padStart(12, '0')}`;
}

/** The spend of own provider keys: there are none (spec:api/2.5). */
export const byokUsage = { byok_usage: 0, byok_usage_daily: 0, byok_usage_weekly: 0, byok_usage_monthly: 0 };

/**
 * Limit and spend as in both key endpoints; `limit_remaining` is null without a limit and never
 * below 0 (spec:api/5.9).
 */
export function spending({ row, spend }: KeyWithSpend): object {
  const { used, left } = usedOf(spend, row);
  return {
    limit: row.limitMicro === null ? null : krwToNumber(krwOfMicro(row.limitMicro)),
    limit_remaining: left === null ? null : krwToNumber(krwOfMicro(left)),
    limit_reset: row.limitReset,
    usage: krwToNumber(krwOfMicro(used)),
    usage_daily: krwToNumber(krwOfMicro(spend.daily)),
    usage_weekly: krwToNumber(krwOfMicro(spend.weekly)),
    usage_monthly: krwToNumber(krwOfMicro(spend.monthly)),
    ...byokUsage,
    include_byok_in_limit: false,
  };
}

/** The key object (spec:api/5), with every other field that OpenRouter's clients require. */
export function keyBody(key: KeyWithSpend, accountHasNoCredit: boolean): object {
  const { row } = key;
  return {
    hash: row.hash,
    label: row.label,
    name: row.name,
    disabled: isDisabled(row, accountHasNoCredit),
    ...spending(key),
    ...restrictionsOf(row),
    created_at: isoOf(row.createdAtMs),
    updated_at: row.updatedAtMs === null ? null : isoOf(row.updatedAtMs),
    expires_at: row.expiresAtMs === null ? null : isoOf(row.expiresAtMs),
    creator_user_id: null,
    workspace_id: workspaceIdOf(row.accountId),
    external_user: null,
  };
}
