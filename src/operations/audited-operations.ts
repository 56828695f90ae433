import { createAccount } from '../accounts/accounts.ts';
import { publishPrices } from '../catalogue/publish.ts';
import type { Config } from '../config/config.ts';
import type { KeyHash } from '../ids/api-key.ts';
import { generationIdOf } from '../ids/generation-id.ts';
import { createKey, type NewKey, revokeKey, suspendKey } from '../keys/keys.ts';
import {
  type Adjustment,
  adjustCredit,
  type CorrectionOutcome,
  type Refund,
  refundGeneration,
} from '../ledger/corrections.ts';
import { type Grant, type GrantOutcome, grantCredit } from '../ledger/credit.ts';
import { findCost } from '../ledger/lots-sql.ts';
import { writeOffQuarantined } from '../ledger/quarantine.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import { writeOffNode } from '../nodes/nodes.ts';
import type { Sql } from '../store/sql.ts';
import { isoOf } from '../time/clock.ts';
import { periodAt } from '../time/period.ts';
import { balanceOfAccount, grantedSince, type KeyState, keyStateOf } from './audit-sql.ts';
import { type AuditContext, audited } from './audited.ts';

/** A grant above what the role of the operator permits in a day; `left` is what it may still grant today. */
export interface AboveLimit {
  readonly kind: 'above_limit';
  readonly left: Krw;
}

/** Thrown inside the transaction, so that nothing of it remains. */
class GrantAboveLimit extends Error {
  override readonly name = 'GrantAboveLimit';
  readonly left: Krw;

  constructor(left: Krw) {
    super('the grant is above the limit of the operator');
    this.left = left;
  }
}

/** What the operations need beside the audit. */
export interface OperationsContext extends AuditContext {
  /** The most that an operator with the role support may grant in a day of Seoul. */
  readonly supportCreditLimit: Krw;
  readonly keyPrefix: string;
  readonly maxKeysPerAccount: number;
}

/** The changes that operators make, by the command line or by the console. Each is in the audit log. */
export function auditedOperations(context: OperationsContext) {
  const { clock, keyPrefix, maxKeysPerAccount: maxPerAccount } = context;
  return {
    createAccount: (account: { readonly name: string; readonly email: string | null }): Promise<number> =>
      createAccount(
        audited<number>(context, (accountId) => ({ act: 'account.create', accountId })),
        { ...account, createdAtMs: clock.now() },
      ),

    grantCredit: (grant: Grant): Promise<GrantOutcome | AboveLimit> => grantWithin(context, grant),

    refundGeneration: (refund: Refund): Promise<CorrectionOutcome> =>
      refundGeneration(
        audited<CorrectionOutcome>(context, async (outcome, _before, sql) => {
          if (outcome.kind !== 'done') return null;
          const accountId = (await findCost(sql, refund.generation))?.accountId ?? null;
          const subject = generationIdOf(refund.generation);
          return moneyAct(sql, {
            act: 'credit.refund',
            accountId,
            subject,
            ...outcome,
            reason: refund.reason,
          });
        }),
        refund,
        clock.now(),
      ),

    adjustCredit: (adjustment: Adjustment): Promise<CorrectionOutcome> =>
      adjustCredit(
        audited<CorrectionOutcome>(context, async (outcome, _before, sql) => {
          if (outcome.kind !== 'done') return null;
          const { accountId, reason } = adjustment;
          const subject = `entry ${outcome.entryId}`;
          return moneyAct(sql, { act: 'credit.adjust', accountId, subject, ...outcome, reason });
        }),
        adjustment,
        clock.now(),
      ),

    createKey: (options: NewKey) =>
      createKey(
        audited<number>(context, (keyId) => ({
          act: 'key.create',
          accountId: options.accountId,
          subject: `key ${keyId}`,
          after: {
            kind: options.kind,
            limit_micro: options.limit,
            limit_reset: options.limitReset,
            expires_at: options.expiresAtMs === null ? null : isoOf(options.expiresAtMs),
          },
        })),
        options,
        { prefix: keyPrefix, nowMs: clock.now(), maxPerAccount },
      ),

    suspendKey: (change: {
      readonly hash: KeyHash;
      readonly suspended: boolean;
      readonly reason: string | null;
    }): Promise<boolean> =>
      suspendKey(
        auditedKey(context, change.hash, (state) => ({
          act: change.suspended ? 'key.suspend' : 'key.unsuspend',
          reason: change.reason,
          before: { suspended: state.suspended },
          after: { suspended: change.suspended },
        })),
        { ...change, atMs: clock.now() },
      ),

    revokeKey: (hash: KeyHash): Promise<boolean> =>
      revokeKey(
        auditedKey(context, hash, (state) => ({
          act: 'key.revoke',
          before: { revoked: state.revoked },
          after: { revoked: true },
        })),
        hash,
        clock.now(),
      ),

    writeOffQuarantined: (options: { readonly uuid: string; readonly reason: string }): Promise<boolean> =>
      writeOffQuarantined(
        audited<boolean>(context, (isDone) =>
          isDone ? { act: 'quarantine.write_off', subject: options.uuid, reason: options.reason } : null,
        ),
        options,
      ),

    writeOffNode: (options: { readonly home: string; readonly reason: string }) =>
      writeOffNode(
        audited<string>(context, (outcome) =>
          outcome === 'closed'
            ? { act: 'node.write_off', subject: options.home, reason: options.reason }
            : null,
        ),
        options,
      ),

    publishCatalogue: (config: Config) =>
      publishPrices(
        audited<{ readonly edition: number; readonly changes: readonly object[] }>(
          context,
          ({ edition, changes }) => ({
            act: 'models.publish',
            subject: `edition ${edition}`,
            after: { changes: changes.length },
          }),
        ),
        config,
        { atMs: clock.now(), announce: true },
      ),
  };
}

async function grantWithin(context: OperationsContext, grant: Grant): Promise<GrantOutcome | AboveLimit> {
  const { actor, clock, supportCreditLimit } = context;
  const nowMs = clock.now();
  const assertWithin = async (sql: Sql): Promise<undefined> => {
    if (actor.kind !== 'operator' || actor.role !== 'support') return;
    const granted = await grantedSince(sql, actor.operatorId, periodAt('daily', nowMs).startMs);
    const left = krwOfMicro(supportCreditLimit > granted ? supportCreditLimit - granted : 0n);
    if (grant.amount > left) throw new GrantAboveLimit(left);
  };
  const recorded = audited<GrantOutcome>(
    context,
    async (outcome, _before, sql) => {
      if (outcome.kind !== 'granted') return null;
      const { accountId, amount, kind, memo } = grant;
      const subject = `entry ${outcome.entryId}`;
      return moneyAct(sql, { act: 'credit.grant', accountId, subject, amount, reason: memo, kind });
    },
    assertWithin,
  );
  try {
    return await grantCredit(recorded, grant, nowMs);
  } catch (error) {
    if (error instanceof GrantAboveLimit) return { kind: 'above_limit', left: error.left };
    throw error;
  }
}

/** An act that moved money, with the balance before and after it. The transaction holds the lock of the balance. */
async function moneyAct(
  sql: Sql,
  act: {
    readonly act: string;
    readonly accountId: number | null;
    readonly subject: string;
    readonly amount: Krw;
    readonly reason: string | null;
    readonly kind: string;
  },
) {
  const { accountId, amount, kind, ...rest } = act;
  if (accountId === null) return { ...rest, after: { amount_micro: amount } };
  const balance = await balanceOfAccount(sql, accountId);
  return {
    ...rest,
    accountId,
    before: { balance_micro: balance - amount },
    after: { balance_micro: balance, amount_micro: amount, kind },
  };
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
