import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { CorrectionOutcome } from '../../ledger/corrections.ts';
import { krwToText } from '../../money/krw.ts';
import type { OperatorService } from '../../operations/operator-service.ts';
import { parseGenerationId } from '../../wire/ids/generation-id.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { creditText, instantText, micro, movedText } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { accountIdOf, noSuchAccount } from './account-shape.ts';
import { actorOf } from './operators.ts';
import { aboveLimit } from './topups.ts';

const entryShape = z.strictObject({
  entry_id: z.int().describe('The ledger entry; a repeated request returns the same entry'),
  amount_micro: micro,
  balance_micro: micro.describe('The current balance'),
});

/**
 * The acts on the credit of an account (A2). Each makes one ledger entry for one idempotency key.
 */
export function accountCreditPages(parts: ConsoleContext) {
  return [grantPage(parts), adjustPage(parts), refundPage(parts)];
}

function grantPage({ operations }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/accounts/{account}/grants',
    role: 'support',
    summary: 'Grant credit; the role `support` has a daily limit',
    body: z.object({
      kind: z.enum(['topup', 'bonus']),
      amount_micro: creditText,
      expires_at: instantText.optional().describe('The expiry of the credit; absent: never'),
      reason: line(500),
    }),
    response: entryShape,
    handle: async ({ session, params, body, changeKey }) => {
      const accountId = accountIdOf(params.account);
      const outcome = await operations.as(actorOf(session)).grantCredit({
        accountId,
        kind: body.kind,
        amount: body.amount_micro,
        expiresAtMs: body.expires_at ?? null,
        idempotencyKey: `page:${changeKey}`,
        memo: body.reason,
      });
      if (outcome.kind === 'above_limit') throw aboveLimit(outcome);
      if (outcome.kind === 'closed') throw new PageRefusal('conflict', pageMessages.accountClosed);
      if (!('entryId' in outcome)) throw outcome.kind === 'conflict' ? otherAct() : noSuchAccount();
      return {
        entry_id: outcome.entryId,
        amount_micro: String(body.amount_micro),
        balance_micro: await balanceOf(operations, accountId),
      };
    },
  });
}

function adjustPage({ operations }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/accounts/{account}/adjustments',
    role: 'admin',
    summary: 'Add or deduct credit with a reason',
    body: z.object({ amount_micro: movedText, reason: line(500) }),
    response: entryShape,
    handle: async ({ session, params, body, changeKey }) => {
      const accountId = accountIdOf(params.account);
      const outcome = await operations.as(actorOf(session)).adjustCredit({
        accountId,
        amount: body.amount_micro,
        reason: body.reason,
        idempotencyKey: `page:${changeKey}`,
      });
      const done = doneOf(outcome);
      if (done === null) throw noSuchAccount();
      return { ...done, balance_micro: await balanceOf(operations, accountId) };
    },
  });
}

function refundPage({ operations }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/accounts/{account}/generations/{id}/refund',
    role: 'admin',
    summary: 'Refund the cost of a request or a part of it; all refunds together never exceed the cost',
    body: z.object({
      amount_micro: creditText.optional().describe('Absent: everything that is not refunded yet'),
      to_key_limit: z
        .boolean()
        .optional()
        .describe('True: it no longer counts against the limit of the key, in the period of its request'),
      reason: line(500),
    }),
    response: entryShape,
    handle: async ({ session, params, body, changeKey }) => {
      const accountId = accountIdOf(params.account);
      const generation = parseGenerationId(params.id);
      if (generation === null) throw refuse('not_found', messages.noSuchGeneration());
      const outcome = await operations.as(actorOf(session)).refundGeneration({
        generation,
        onlyAccount: accountId,
        amount: body.amount_micro ?? null,
        reason: body.reason,
        toKeyLimit: body.to_key_limit ?? false,
        idempotencyKey: `page:${changeKey}`,
      });
      const done = doneOf(outcome);
      if (done === null) throw new PageRefusal('conflict', pageMessages.notBilled);
      return { ...done, balance_micro: await balanceOf(operations, accountId) };
    },
  });
}

/** The entry that was made; null when there is no such account or generation. */
function doneOf(outcome: CorrectionOutcome): { entry_id: number; amount_micro: string } | null {
  if ('entryId' in outcome) return { entry_id: outcome.entryId, amount_micro: String(outcome.amount) };
  if (!('left' in outcome)) {
    if (outcome.kind === 'conflict') throw otherAct();
    return null;
  }
  throw new PageRefusal('conflict', pageMessages.refundTooLarge(krwToText(outcome.left)), {
    extras: { left_micro: String(outcome.left) },
  });
}

/** The ledger has an entry of another act with this key. */
function otherAct(): Error {
  return new PageRefusal('idempotency_conflict', pageMessages.idempotencyConflict);
}

async function balanceOf(operations: OperatorService, accountId: number): Promise<string> {
  const row = await operations.readAccount(accountId);
  return String(row === null ? 0n : row.credits - row.usage);
}
