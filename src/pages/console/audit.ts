import { z } from 'zod';
import { type AuditQuery, readActNames, readActs } from '../../identity/audit-sql.ts';
import { auditEntry } from '../../operations/audit-entry.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { roles } from '../page-session.ts';
import { instant, instantText, pageOf } from '../shapes.ts';

const pageSize = 100;
const actors = [...roles, 'cli'] as const;
const actShape = z.strictObject({
  id: z.int(),
  at: instant,
  operator_id: z.int().nullable(),
  who: z.string(),
  role: z.enum(actors),
  act: z.string(),
  account_id: z.int().nullable(),
  subject: z.string().nullable(),
  reason: z.string().nullable(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
});
const filters = {
  act: z.string().max(100).optional(),
  role: z.enum(actors).optional(),
  operator_id: integerText(1).optional(),
  account_id: integerText(1).optional(),
  from: instantText.optional(),
  to: instantText.optional(),
};
const filterQuery = z.object(filters);

/** Every act of every operator, the command line included (A12). */
export function auditPages({ reads }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/audit',
      summary: 'The actions of operators in the console and on the command line, the latest first',
      query: z.object({ ...filters, cursor: integerText(1).optional() }),
      response: pageOf(actShape),
      handle: async ({ query: { cursor, ...query } }) => {
        const acts = await readActs(reads, { ...filterOf(query), beforeId: cursor, limit: pageSize + 1 });
        const { rows, next } = pageOfRows(acts, pageSize, ({ id }) => id);
        return { items: rows.map(auditEntry), next };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/audit/acts',
      summary: 'The names of the actions in the log',
      response: z.strictObject({ items: z.array(z.string()) }),
      handle: async () => ({ items: [...(await readActNames(reads))] }),
    }),
  ];
}

function filterOf(query: z.output<typeof filterQuery>): Omit<AuditQuery, 'limit'> {
  const { act, role, operator_id: operatorId, account_id: accountId, from: fromMs, to: toMs } = query;
  return { act, role, operatorId, accountId, fromMs, toMs };
}
