import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { Key } from '../accounts/key.ts';
import { krwToNumber } from '../money/krw.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { creditsDocument, keyInformationDocument } from './documents/keys.ts';
import { spending, workspaceIdOf } from './key-object.ts';
import { route } from './route.ts';

/** What the account's own endpoints need. */
export interface AccountParts {
  readonly accounts: AccountCache;
  /** The current key, including what other nodes have spent with it. */
  readonly current: (key: Key) => Key | Promise<Key>;
  readonly clock: Clock;
}

/** A constant kept for compatibility and not enforced (spec:api/9.3). */
const rateLimit = { requests: -1, interval: '10s', note: 'This field is deprecated and safe to ignore.' };

/** `GET /key`, its alias, and `GET /credits` (spec:api/9,10). */
export function accountRoutes({ accounts, current, clock }: AccountParts) {
  const keyRow = <P extends string>(path: P) =>
    route({
      method: 'GET',
      path,
      credential: 'either',
      document: keyInformationDocument,
      handle: async ({ caller }) => ({
        body: { data: keyInformation(await current(caller.key), clock.now()) },
      }),
    });
  return [
    keyRow('/api/v1/key'),
    keyRow('/api/v1/auth/key'),
    route({
      method: 'GET',
      path: '/api/v1/credits',
      credential: 'either',
      document: creditsDocument,
      handle: async ({ caller }) => {
        const account = await accounts.current(caller.accountId);
        if (account === null) throw new Error('an identified caller has an account');
        return { body: { data: credits(account) } };
      },
    }),
  ];
}

function credits(account: Account): object {
  return { total_credits: krwToNumber(account.totalCredits), total_usage: krwToNumber(account.totalUsage) };
}

function keyInformation(key: Key, nowMs: number): object {
  const { row } = key;
  const isManagement = row.kind === 'management';
  return {
    label: row.label,
    ...spending({ row, spend: key.spendOn(nowMs) }),
    is_free_tier: false,
    is_management_key: isManagement,
    is_provisioning_key: isManagement,
    creator_user_id: null,
    organization_id: null,
    workspace_id: workspaceIdOf(row.accountId),
    allowed_data_regions: [],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    expires_at: row.expiresAtMs === null ? null : isoOf(row.expiresAtMs),
    rate_limit: rateLimit,
  };
}
