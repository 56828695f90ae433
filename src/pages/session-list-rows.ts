import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Identity } from '../identity/identity.ts';
import type { SessionRow, SessionScope } from '../identity/sessions.ts';
import { isoOf } from '../time/clock.ts';
import { pageRoute } from './page-route.ts';
import type { Area, PageSession } from './page-session.ts';
import { instant } from './shapes.ts';

/** What the rows of sessions need. */
export interface SessionListParts {
  readonly identity: Identity;
}

const sessionShape = z.strictObject({
  id: z.string(),
  via: z.string(),
  address: z.string(),
  user_agent: z.string(),
  created_at: instant,
  last_seen_at: instant,
  expires_at: instant,
  is_current: z.boolean(),
  is_of_account: z.boolean().describe('Opened by a management key or an account link, not by an owner'),
});
const listShape = z.strictObject({ items: z.array(sessionShape) });
const revokedShape = z.strictObject({ revoked: z.int() });

const summaries = {
  dashboard: {
    list: 'The open sessions of the owner, and those of the account itself',
    revoke: 'End a session, on every node at once',
    revokeOthers: 'End every other session of the list',
  },
  console: {
    list: 'The open sessions of the operator',
    revoke: 'End a session of the operator, on every node at once',
    revokeOthers: 'End every other session of the operator',
  },
} as const;

/** The sessions of the owner (U12) or of the operator who is signed in. */
export function sessionListPages(area: Area, { identity }: SessionListParts) {
  const path = `/${area}/api/sessions` as const;
  const summary = summaries[area];
  return [
    pageRoute({
      method: 'GET',
      path,
      area,
      credential: 'session',
      summary: summary.list,
      response: listShape,
      handle: async ({ session }) => listOf(await identity.sessions.list(scopeOf(session)), session),
    }),
    pageRoute({
      method: 'DELETE',
      path: `${path}/{id}`,
      area,
      credential: 'session',
      summary: summary.revoke,
      response: revokedShape,
      handle: async ({ session, params: { id } }) => {
        if (!(await identity.sessions.revoke(id, scopeOf(session))))
          throw refuse('not_found', messages.noSuchSession());
        return { revoked: 1 };
      },
    }),
    pageRoute({
      method: 'POST',
      path: `${path}/revoke-others`,
      area,
      credential: 'session',
      summary: summary.revokeOthers,
      response: revokedShape,
      handle: async ({ session }) => ({
        revoked: await identity.sessions.revokeOthers(scopeOf(session), session.sessionId),
      }),
    }),
  ];
}

function scopeOf(session: PageSession): SessionScope {
  return session.kind === 'owner'
    ? { kind: 'owner', accountId: session.accountId, ownerId: session.ownerId }
    : { kind: 'operator', operatorId: session.operatorId };
}

function listOf(rows: readonly SessionRow[], { sessionId }: PageSession): z.input<typeof listShape> {
  return {
    items: rows.map((row) => ({
      id: row.sessionId,
      via: row.via,
      address: row.address,
      user_agent: row.userAgent,
      created_at: isoOf(row.createdAtMs),
      last_seen_at: isoOf(row.lastSeenAtMs),
      expires_at: isoOf(row.expiresAtMs),
      is_current: row.sessionId === sessionId,
      is_of_account: row.operator === null && row.ownerId === null,
    })),
  };
}
