import { z } from 'zod';
import { type KeyHash, parseKeyHash } from '../../accounts/api-key.ts';
import type { KeyWithSpend } from '../../accounts/key-service.ts';
import { restrictionsOf } from '../../accounts/keys.ts';
import { keyStandings, standingOf } from '../../accounts/rules.ts';
import { usedOf } from '../../accounts/spend.ts';
import { type KeyDay, readKeyDays, readLastUsedDays } from '../../accounts/usage-days-sql.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import type { Database } from '../../store/database.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import { limitResets, periodAt, seoulDayAt } from '../../time/period.ts';
import { restrictionShapes } from '../../wire/shapes/keys.ts';
import { day, instant, micro } from '../shapes.ts';

/** A key as the pages show it. */
export const pageKeyShape = z.strictObject({
  hash: z.string().describe('SHA-256 of the key: its id'),
  kind: z.enum(['inference', 'management']),
  name: z.string(),
  label: z.string().describe('The masked key'),
  standing: z.enum(keyStandings),
  switched_off: z.boolean().describe('Switched off by the owner'),
  limit_micro: micro.nullable(),
  limit_reset: z.enum(limitResets),
  limit_used_micro: micro.describe('The spend that counts against the limit'),
  limit_remaining_micro: micro.nullable(),
  next_reset_at: instant.nullable().describe('When the limit period ends; null: never'),
  ...restrictionShapes,
  usage_daily_micro: micro,
  usage_weekly_micro: micro,
  usage_monthly_micro: micro,
  usage_total_micro: micro,
  last_used_on: day.nullable(),
  days: z
    .array(z.strictObject({ day, cost_micro: micro, requests: z.int() }))
    .describe('Usage by day over the last 30 days, without days of no usage'),
  created_at: instant,
  updated_at: instant.nullable(),
  expires_at: instant.nullable(),
});

/** The days of use that the pages show, today included. */
const usedDays = 30;

/** The hash of a key in a path. Refuses a malformed one as that of a key that does not exist. */
export function keyHashOf(text: string): KeyHash {
  const hash = parseKeyHash(text);
  if (hash === null) throw noSuchKey();
  return hash;
}

/** The same whether the key does not exist or belongs to another account. */
export function noSuchKey(): Error {
  return refuse('not_found', messages.noSuchPageKey());
}

/** What is known of the use of keys beside their spend. */
export interface KeyUse {
  readonly lastUsed: ReadonlyMap<number, string>;
  readonly days: readonly KeyDay[];
}

/** The use of keys of one account. */
export async function readKeyUse(
  reads: Database,
  {
    accountId,
    ids,
    nowMs,
  }: { readonly accountId: number; readonly ids: readonly number[]; readonly nowMs: number },
): Promise<KeyUse> {
  return {
    days: await readKeyDays(reads, accountId, ids, seoulDayAt(nowMs) - usedDays + 1),
    lastUsed: await readLastUsedDays(reads, accountId, ids),
  };
}

/** The standing and the amounts at one instant. */
export function pageKey(
  { row, spend }: KeyWithSpend,
  { lastUsed, days }: KeyUse,
  { balance, nowMs }: { readonly balance: bigint; readonly nowMs: number },
): z.input<typeof pageKeyShape> {
  const { used, left } = usedOf(spend, row);
  const { endMs } = periodAt(row.limitReset, nowMs);
  return {
    hash: row.hash,
    kind: row.kind,
    name: row.name,
    label: row.label,
    standing: standingOf(row, balance, nowMs),
    switched_off: row.userDisabled,
    limit_micro: row.limitMicro === null ? null : String(row.limitMicro),
    limit_reset: row.limitReset,
    limit_used_micro: String(used),
    limit_remaining_micro: left === null ? null : String(left),
    next_reset_at: Number.isFinite(endMs) ? isoOf(endMs) : null,
    ...restrictionsOf(row),
    usage_daily_micro: String(spend.daily),
    usage_weekly_micro: String(spend.weekly),
    usage_monthly_micro: String(spend.monthly),
    usage_total_micro: String(spend.total),
    last_used_on: lastUsed.get(row.id) ?? null,
    days: days
      .filter(({ keyId }) => keyId === row.id)
      .map((each) => ({ day: each.day, cost_micro: String(each.cost), requests: each.requests })),
    created_at: isoOf(row.createdAtMs),
    updated_at: isoOrNull(row.updatedAtMs),
    expires_at: isoOrNull(row.expiresAtMs),
  };
}
