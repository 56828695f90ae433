import { z } from 'zod';
import type { Identity } from '../../identity/identity.ts';
import { auditEntry } from '../../operations/audit-entry.ts';
import { integerText } from '../../wire/shapes/query.ts';
import { pageRoute } from '../page-route.ts';
import { roles } from '../page-session.ts';
import { instant, instantText, pageOf } from '../shapes.ts';

/** What the row of the audit log needs. */
export interface AuditPageParts {
  readonly identity: Identity;
}

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

/** Every act of every operator, the command line included (A12). */
export function auditPages({ identity }: AuditPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/audit',
      area: 'console',
      credential: 'session',
      summary: 'What operators did, in the console and with commands, the latest first',
      query: z.object({
        cursor: integerText(1).optional(),
        act: z.string().max(100).optional(),
        role: z.enum(actors).optional(),
        operator_id: integerText(1).optional(),
        account_id: integerText(1).optional(),
        from: instantText.optional(),
        to: instantText.optional(),
      }),
      response: pageOf(actShape),
      handle: async ({ query }) => {
        const { cursor, act, role, operator_id: operatorId, account_id: accountId, from, to } = query;
        const rows = await identity.readActs({
          limit: pageSize,
          ...(cursor === undefined ? {} : { beforeId: cursor }),
          ...(act === undefined ? {} : { act }),
          ...(role === undefined ? {} : { role }),
          ...(operatorId === undefined ? {} : { operatorId }),
          ...(accountId === undefined ? {} : { accountId }),
          ...(from === undefined ? {} : { fromMs: from }),
          ...(to === undefined ? {} : { toMs: to }),
        });
        return {
          items: rows.map(auditEntry),
          next: rows.length < pageSize ? null : String(rows.at(-1)?.id),
        };
      },
    }),
  ];
}
