import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Identity } from '../identity/identity.ts';
import type { SessionRow, SessionScope } from '../identity/sessions.ts';
import { isoOf } from '../time/clock.ts';
import { type AnyPageRoute, pageRoute } from './page-route.ts';
import type { PageSession } from './page-session.ts';
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

/** The sessions of the owner (U12). */
export function dashboardSessionPages({ identity }: SessionListParts): readonly AnyPageRoute[] {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/sessions',
      area: 'dashboard',
      credential: 'session',
      summary: 'The open sessions of the owner, and those of the account itself',
      response: listShape,
      handle: async ({ session }) => listOf(await identity.sessions.list(scopeOf(session)), session),
    }),
    pageRoute({
      method: 'DELETE',
      path: '/dashboard/api/sessions/{id}',
      area: 'dashboard',
      credential: 'session',
      summary: 'End a session, on every node at once',
      response: revokedShape,
      handle: async ({ session, params: { id } }) => {
        if (!(await identity.sessions.revoke(id, scopeOf(session))))
          throw refuse('not_found', messages.noSuchSession());
        return { revoked: 1 };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sessions/revoke-others',
      area: 'dashboard',
      credential: 'session',
      summary: 'End every other session of the list',
      response: revokedShape,
      handle: async ({ session }) => ({
        revoked: await identity.sessions.revokeOthers(scopeOf(session), session.sessionId),
      }),
    }),
  ];
}

/** The sessions of the operator. */
export function consoleSessionPages({ identity }: SessionListParts): readonly AnyPageRoute[] {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/sessions',
      area: 'console',
      credential: 'session',
      summary: 'The open sessions of the operator',
      response: listShape,
      handle: async ({ session }) => listOf(await identity.sessions.list(scopeOf(session)), session),
    }),
    pageRoute({
      method: 'DELETE',
      path: '/console/api/sessions/{id}',
      area: 'console',
      credential: 'session',
      summary: 'End a session of the operator, on every node at once',
      response: revokedShape,
      handle: async ({ session, params: { id } }) => {
        if (!(await identity.sessions.revoke(id, scopeOf(session))))
          throw refuse('not_found', messages.noSuchSession());
        return { revoked: 1 };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/sessions/revoke-others',
      area: 'console',
      credential: 'session',
      summary: 'End every other session of the operator',
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
