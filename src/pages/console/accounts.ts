import { z } from 'zod';
import { findAccount } from '../../accounts/accounts-sql.ts';
import { type AccountFilter, accountStandings, searchAccounts } from '../../accounts/search-sql.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { readPersonalData } from '../../operations/erasure-sql.ts';
import type { Database } from '../../store/database.ts';
import { seoulDayAt } from '../../time/period.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { pageOf } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { usagePartsOf, usagePartsShape } from '../usage-parts.ts';
import {
  accountIdOf,
  businessNumberText,
  consoleAccount,
  consoleAccountShape,
  noSuchAccount,
  spendDays,
} from './account-shape.ts';
import { actorOf } from './operators.ts';

const pageSize = 50;

const oneAccountShape = consoleAccountShape.extend(usagePartsShape);

/** Accounts: search, one in figures, suspension (A2). */
export function consoleAccountPages(parts: ConsoleContext) {
  const { operations } = parts;
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/accounts',
      summary: 'Accounts with their balance and their spend over 30 days, newest first',
      query: z.object({
        search: z.string().max(200).optional().describe('A part of a name or of an e-mail address, or an ID'),
        standing: z.enum(accountStandings).optional(),
        cursor: integerText(1).optional(),
      }),
      response: pageOf(consoleAccountShape),
      handle: async ({ query: { search = '', standing = null, cursor = null } }) => {
        const text = search.trim() === '' ? null : search.trim();
        const accounts = await found(parts, { id: null, text, standing }, cursor, pageSize + 1);
        const { rows, next } = pageOfRows(accounts, pageSize, ({ accountId }) => accountId);
        return { items: rows.map(consoleAccount), next };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/accounts/{account}',
      summary: 'One account with its figures',
      response: oneAccountShape,
      handle: async ({ params }) => one(parts, accountIdOf(params.account)),
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts/{account}/suspension',
      role: 'support',
      summary: 'Suspend all keys of an account, including keys created later, or lift the suspension',
      body: z.object({ suspended: z.boolean(), reason: line(500) }),
      response: oneAccountShape,
      handle: async ({ session, params, body }) => {
        const accountId = accountIdOf(params.account);
        const outcome = await operations.as(actorOf(session)).suspendAccount({ accountId, ...body });
        if (outcome.kind === 'not_found') throw noSuchAccount();
        return one(parts, accountId);
      },
    }),
    ...accountChangePages(parts),
    ...personPages(parts),
  ];
}

const counts = z.record(z.string(), z.int());
const personalDataShape = z.strictObject({
  removed: counts.describe('What an erasure removes'),
  kept: counts.describe('What stays, because the law or the ledger needs it'),
});

/** The data of the person of an account, and its erasure (spec:operator/1.28). */
function personPages({ operations, reads }: ConsoleContext) {
  const path = '/console/api/accounts/{id}/person';
  return [
    pageRoute({
      method: 'GET',
      path,
      role: 'admin',
      credential: 'person',
      summary: 'What of an account is data of a person, as counts',
      response: personalDataShape,
      handle: async ({ params }) => {
        const data = await readPersonalData(reads, accountIdOf(params.id));
        if (data === null) throw noSuchAccount();
        return data;
      },
    }),
    pageRoute({
      method: 'DELETE',
      path,
      role: 'admin',
      credential: 'person',
      summary: 'Erase the person of a closed account; it cannot be undone',
      body: z.object({}),
      response: personalDataShape,
      handle: async ({ session, params }) => {
        const accountId = accountIdOf(params.id);
        const { kind } = await operations.as(actorOf(session)).erasePerson(accountId);
        if (kind === 'open') throw new PageRefusal('conflict', pageMessages.accountOpen);
        const data = await operations.readPersonalData(accountId);
        if (data === null) throw noSuchAccount();
        return data;
      },
    }),
  ];
}

function accountChangePages(parts: ConsoleContext) {
  const { operations } = parts;
  return [
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts/{account}/closure',
      role: 'admin',
      summary:
        'Close an account: its keys are revoked, and nobody signs in for it; or reopen it. The balance does not change',
      body: z.object({ closed: z.boolean(), reason: line(500) }),
      response: oneAccountShape,
      handle: async ({ session, params, body }) => {
        const accountId = accountIdOf(params.account);
        const outcome = await operations.as(actorOf(session)).closeAccount({ accountId, ...body });
        if (outcome.kind === 'not_found') throw noSuchAccount();
        return one(parts, accountId);
      },
    }),
    pageRoute({
      method: 'PATCH',
      path: '/console/api/accounts/{account}',
      role: 'support',
      summary: 'Change the name or the business number of an account; what is absent stays',
      body: z.object({
        name: line(200).optional(),
        business_number: businessNumberText.nullable().optional(),
      }),
      response: oneAccountShape,
      handle: async ({ session, params, body }) => {
        const accountId = accountIdOf(params.account);
        const acting = operations.as(actorOf(session));
        const { name, business_number: digits } = body;
        if (name !== undefined && !(await acting.renameAccount(accountId, name))) throw noSuchAccount();
        if (digits !== undefined && !(await acting.setBusinessNumber(accountId, digits)))
          throw noSuchAccount();
        return one(parts, accountId);
      },
    }),
  ];
}

/** Refuses an account that does not exist. */
export async function assertAccount(reads: Database, accountId: number): Promise<void> {
  if ((await findAccount(reads, accountId)) === null) throw noSuchAccount();
}

async function one(parts: ConsoleContext, accountId: number) {
  const [row] = await found(parts, { id: accountId, text: null, standing: null }, null, 1);
  if (row === undefined) throw noSuchAccount();
  return { ...consoleAccount(row), ...(await usagePartsOf(parts.reads, accountId, row.usage)) };
}

function found(
  { reads, clock }: ConsoleContext,
  filter: AccountFilter,
  beforeId: number | null,
  limit: number,
) {
  const sinceDay = seoulDayAt(clock.now()) - spendDays + 1;
  return searchAccounts(reads, filter, { beforeId, limit, sinceDay });
}
