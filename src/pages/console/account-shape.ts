import { z } from 'zod';
import { parseBusinessNumber } from '../../accounts/business-number.ts';
import { type AccountListing, accountStandings } from '../../accounts/search-sql.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import { reading } from '../../wire/parse-with.ts';
import { instant, micro, pathId } from '../shapes.ts';

/** An account as operators see it. */
export const consoleAccountShape = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string().nullable(),
  business_number: z.string().nullable().describe('Ten digits'),
  created_at: instant,
  standing: z.enum(accountStandings),
  suspended_at: instant.nullable(),
  suspend_reason: z.string().nullable(),
  closed_at: instant.nullable(),
  balance_micro: micro,
  total_credits_micro: micro,
  total_usage_micro: micro,
  spend_30d_micro: micro.describe('The spend of its keys over 30 days including today, in Korean time'),
  requests_30d: z.int(),
  keys: z.int().describe('Keys that are not revoked'),
});

/** A business number in a body, with or without hyphens. */
export const businessNumberText = reading(
  z.string().max(100),
  parseBusinessNumber,
  requirements.businessNumber,
);

/** How many days of spend the console shows, today included. */
export const spendDays = 30;

/** An account in a response. */
export function consoleAccount(row: AccountListing): z.input<typeof consoleAccountShape> {
  return {
    id: row.accountId,
    name: row.name,
    email: row.email,
    business_number: row.businessNumber,
    created_at: isoOf(row.createdAtMs),
    standing: row.standing,
    suspended_at: isoOrNull(row.suspendedAtMs),
    suspend_reason: row.suspendReason,
    closed_at: row.closedAtMs === null ? null : isoOf(row.closedAtMs),
    balance_micro: String(row.credits - row.usage),
    total_credits_micro: String(row.credits),
    total_usage_micro: String(row.usage),
    spend_30d_micro: String(row.spend),
    requests_30d: row.requests,
    keys: row.keys,
  };
}

/** The id of an account in a path; one that is malformed is unknown. */
export function accountIdOf(text: string): number {
  const id = pathId(text);
  if (id === 0) throw noSuchAccount();
  return id;
}

/** The refusal for an account that does not exist. */
export function noSuchAccount(): Error {
  return refuse('not_found', messages.noSuchAccount());
}
