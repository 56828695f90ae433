import { findAccount } from '../accounts/accounts-sql.ts';
import type { KeyHash } from '../accounts/api-key.ts';
import {
  createKey,
  type KeyChange,
  type KeyRow,
  limitKey,
  type NewKey,
  readKey,
  readKeys,
  readSpend,
  revokeKey,
  type Suspension,
  suspendKey,
} from '../accounts/keys.ts';
import { findKeyByHash, findKeysByPrefix, type RestrictionChange } from '../accounts/keys-sql.ts';
import { isDisabled, type KeyStanding, standingOf } from '../accounts/rules.ts';
import type { Spend } from '../accounts/spend.ts';
import { buildCatalogue, statedPrices } from '../catalogue/catalogue.ts';
import { assertKnown } from '../routing/restrictions.ts';
import type { Database } from '../store/database.ts';
import { isoOf } from '../time/clock.ts';
import { type KeyState, keyStateOf } from './audit-sql.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Creates, limits, suspends, revokes and reads keys of any account. */
export function keyOperations(context: OperationsContext) {
  const { database, clock, keyPrefix, maxKeysPerAccount: maxPerAccount } = context;
  return {
    createKey: async (options: NewKey): Promise<{ readonly hash: KeyHash; readonly plaintext: string }> => {
      assertKnownIn(context, options.restrictions);
      return createKey(
        audited<number>(context, (keyId) => ({
          act: 'key.create',
          accountId: options.accountId,
          subject: `key ${keyId}`,
          after: {
            kind: options.kind,
            limit_micro: options.limit,
            limit_reset: options.limitReset,
            expires_at: options.expiresAtMs === null ? null : isoOf(options.expiresAtMs),
            ...options.restrictions,
          },
        })),
        options,
        { prefix: keyPrefix, nowMs: clock.now(), maxPerAccount },
      );
    },

    suspendKey: ({
      endsCalls = false,
      ...change
    }: Omit<Suspension, 'atMs'> & { readonly endsCalls?: boolean }): Promise<boolean> =>
      suspendKey(
        auditedKey(context, change.hash, (state) => ({
          act: change.suspended ? 'key.suspend' : 'key.unsuspend',
          reason: change.reason,
          before: { suspended: state.suspended },
          after: { suspended: change.suspended, ...(endsCalls && { ends_calls: true }) },
        })),
        { ...change, atMs: clock.now() },
        endsCalls,
      ),

    /** Changes the stated limits and restrictions of a key; false when there is no such key. */
    limitKey: async (hash: KeyHash, limit: KeyLimit, reason: string | null): Promise<boolean> => {
      assertKnownIn(context, limit.restrictions);
      return limitKey(auditedLimit(context, hash, reason), hash, limit, clock.now());
    },

    revokeKey: (hash: KeyHash, reason: string | null = null, endsCalls = false): Promise<boolean> =>
      revokeKey(
        auditedKey(context, hash, (state) => ({
          act: 'key.revoke',
          reason,
          before: { revoked: state.revoked },
          after: { revoked: true, ...(endsCalls && { ends_calls: true }) },
        })),
        hash,
        clock.now(),
        endsCalls,
      ),

    readKey: (hash: KeyHash): Promise<KeyRow | null> => readKey(database, hash),

    /** The keys whose hash begins with these hex digits, at most ten. */
    findKeys: (prefix: string): Promise<readonly KeyRow[]> => findKeysByPrefix(database, prefix),

    readKeys: (accountId: number): Promise<readonly KeyRow[]> => readKeys(database, accountId),

    readSpend: (key: KeyRow): Promise<Spend> => readSpend(database, key, clock.now()),

    /** The current standing of an account's keys; null when the account does not exist. */
    readStandings: (accountId: number) => readStandings(database, accountId, clock.now()),
  };
}

async function readStandings(
  database: Database,
  accountId: number,
  nowMs: number,
): Promise<((key: KeyRow) => { readonly standing: KeyStanding; readonly isDisabled: boolean }) | null> {
  const account = await findAccount(database, accountId);
  if (account === null) return null;
  const balance = account.credits - account.usage;
  return (key) => ({ standing: standingOf(key, balance, nowMs), isDisabled: isDisabled(key, balance <= 0n) });
}

type KeyLimit = Pick<KeyChange, 'limitMicro' | 'limitReset' | 'restrictions'>;

/** Compares with the configuration, where the service has one: a command may run without a server. */
function assertKnownIn({ catalogue }: OperationsContext, stated: RestrictionChange | undefined): void {
  if (stated === undefined || catalogue === undefined) return;
  assertKnown(buildCatalogue(catalogue.config, statedPrices(catalogue.config, 0)), stated);
}

function auditedLimit(context: OperationsContext, hash: KeyHash, reason: string | null) {
  return audited<boolean, KeyRow | null>(
    context,
    async (isDone, before, sql) => {
      const after = await findKeyByHash(sql, hash);
      if (!isDone || before === null || after === null) return null;
      const { accountId } = before;
      const states = { before: limitOf(before), after: limitOf(after) };
      return { act: 'key.limit', accountId, subject: hash, reason, ...states };
    },
    (sql) => findKeyByHash(sql, hash),
  );
}

function limitOf({ limitMicro, limitReset, restrictions }: KeyRow): object {
  return { limit_micro: limitMicro, limit_reset: limitReset, ...restrictions };
}

function auditedKey(
  context: OperationsContext,
  hash: KeyHash,
  describe: (state: KeyState) => {
    readonly act: string;
    readonly reason?: string | null;
    readonly before: object;
    readonly after: object;
  },
) {
  return audited<boolean, KeyState | null>(
    context,
    (isDone, state) =>
      isDone && state !== null ? { ...describe(state), accountId: state.accountId, subject: hash } : null,
    (sql) => keyStateOf(sql, hash),
  );
}
