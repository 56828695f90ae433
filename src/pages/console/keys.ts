import { z } from 'zod';
import { findAccounts } from '../../accounts/accounts-sql.ts';
import { type KeyHash, parseKeyHash } from '../../accounts/api-key.ts';
import { type FoundKey, type KeySearch, searchKeys } from '../../accounts/key-search-sql.ts';
import { readKeySpends } from '../../accounts/keys-sql.ts';
import { type KeyState, keyRules } from '../../accounts/rules.ts';
import { noSpend, spendOf } from '../../accounts/spend.ts';
import { errorTypeOf, statusOf } from '../../errors/catalogue.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { krwOfMicro } from '../../money/krw.ts';
import { limitResets, seoulDayAt } from '../../time/period.ts';
import { requestedRestrictions, restrictionsIn } from '../../wire/shapes/keys.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { keyHashOf, noSuchKey, pageKey, pageKeyShape, readKeyUse } from '../dashboard/key-shape.ts';
import { pageRoute } from '../page-route.ts';
import { microText, pageOf } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { actorOf } from './operators.ts';

const pageSize = 50;

const foundShape = pageKeyShape.extend({
  account_id: z.int(),
  account_name: z.string(),
  suspended_itself: z.boolean().describe('The key itself is suspended; its account may be suspended too'),
  suspend_reason: z.string().nullable(),
  account_suspended: z.boolean(),
  account_suspend_reason: z.string().nullable(),
  refusals: z
    .array(
      z.strictObject({
        status: z.int(),
        type: z.string().describe('The error that the API returns'),
        cause: z.enum(keyRules.map(({ name }) => name)),
      }),
    )
    .describe(
      'The reasons why its calls are rejected now, in the order of the checks; the client receives the first',
    ),
});

/** Keys of all accounts: find, limit, suspend, lift, and why one is refused (A3). */
export function consoleKeyPages(parts: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/keys',
      summary: 'Keys of all accounts including revoked ones, newest first',
      query: z.object({
        search: z.string().max(200).optional().describe('A hash, or a part of a label or a name'),
        account: integerText(1).optional(),
        cursor: integerText(1).optional(),
      }),
      response: pageOf(foundShape),
      handle: async ({ query: { search = '', account, cursor } }) => {
        const text = search.trim();
        const hash = parseKeyHash(text.toLowerCase());
        const keys = await searchKeys(
          parts.reads,
          {
            hash,
            text: text === '' || hash !== null ? null : text,
            accountId: account ?? null,
            isRevokedToo: true,
          },
          { beforeId: cursor ?? null, limit: pageSize + 1 },
        );
        const { rows, next } = pageOfRows(keys, pageSize, ({ id }) => id);
        return { items: await shown(parts, rows), next };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/keys/{hash}',
      summary: 'One key, and the reasons why its calls are rejected now',
      response: foundShape,
      handle: async ({ params }) => one(parts, keyHashOf(params.hash)),
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/keys/{hash}/suspension',
      role: 'support',
      summary: 'Suspend a key, or lift its suspension',
      body: z.object({
        suspended: z.boolean(),
        reason: line(500),
        now: z.boolean().optional().describe('Whether its calls in flight end too; by default they go on'),
      }),
      response: foundShape,
      handle: async ({ session, params, body }) => {
        const hash = keyHashOf(params.hash);
        const { now: endsCalls = false, ...change } = body;
        const operations = parts.operations.as(actorOf(session));
        if (!(await operations.suspendKey({ hash, ...change, endsCalls }))) throw noSuchKey();
        return one(parts, hash);
      },
    }),
    limitPage(parts),
  ];
}

function limitPage(parts: ConsoleContext) {
  return pageRoute({
    method: 'PATCH',
    path: '/console/api/keys/{hash}',
    role: 'support',
    summary: 'Change the limit and the restrictions of a key',
    body: z.object({
      limit_micro: microText.nullable().optional(),
      limit_reset: z.enum(limitResets).optional(),
      ...requestedRestrictions,
      reason: line(500),
    }),
    response: foundShape,
    handle: async ({ session, params, body }) => {
      const { limit_micro, limit_reset, reason } = body;
      const hash = keyHashOf(params.hash);
      const limit = {
        ...(limit_micro === undefined ? {} : { limitMicro: limit_micro }),
        ...(limit_reset === undefined ? {} : { limitReset: limit_reset }),
        restrictions: restrictionsIn(body),
      };
      if ((await one(parts, hash)).standing === 'revoked')
        throw new PageRefusal('conflict', pageMessages.keyRevokedMeanwhile);
      if (!(await parts.operations.as(actorOf(session)).limitKey(hash, limit, reason))) throw noSuchKey();
      return one(parts, hash);
    },
  });
}

/** Everything that refuses its calls. */
function refusalsOf(state: KeyState): z.input<typeof foundShape>['refusals'] {
  return keyRules
    .filter((rule) => rule.applies(state))
    .map((rule) => {
      const { failure } = rule.refusal(state);
      return { status: statusOf(failure), type: errorTypeOf(failure), cause: rule.name };
    });
}

async function one(parts: ConsoleContext, hash: KeyHash): Promise<z.input<typeof foundShape>> {
  const search: KeySearch = { hash, text: null, accountId: null, isRevokedToo: true };
  const [item] = await shown(parts, await searchKeys(parts.reads, search, { beforeId: null, limit: 1 }));
  if (item === undefined) throw noSuchKey();
  return item;
}

async function shown(
  { reads, clock }: ConsoleContext,
  keys: readonly FoundKey[],
): Promise<z.input<typeof foundShape>[]> {
  const nowMs = clock.now();
  const day = seoulDayAt(nowMs);
  const spends = await readKeySpends(reads, keys, day);
  const accountIds = [...new Set(keys.map(({ accountId }) => accountId))];
  const accounts = await findAccounts(reads, accountIds);
  const balances = new Map(accounts.map((row) => [row.accountId, row.credits - row.usage]));
  const uses = new Map(
    await Promise.all(
      accountIds.map(async (accountId) => {
        const ids = keys.filter((key) => key.accountId === accountId).map(({ id }) => id);
        return [accountId, await readKeyUse(reads, { accountId, ids, nowMs })] as const;
      }),
    ),
  );
  return keys.map((row) => {
    const spend = { ...noSpend(day), ...spends.get(row.id) };
    const balance = krwOfMicro(balances.get(row.accountId) ?? 0n);
    const use = uses.get(row.accountId) ?? { days: [], lastUsed: new Map() };
    return {
      ...pageKey({ row, spend }, use, { balance, nowMs }),
      account_id: row.accountId,
      account_name: row.accountName,
      suspended_itself: row.isSuspendedItself,
      suspend_reason: row.suspendReason,
      account_suspended: row.isAccountSuspended,
      account_suspend_reason: row.accountSuspendReason,
      refusals: refusalsOf({ row, nowMs, balance, spent: krwOfMicro(spendOf(spend, row.limitReset)) }),
    };
  });
}
