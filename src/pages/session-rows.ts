import { z } from 'zod';
import { findAccount } from '../accounts/accounts-sql.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { SessionRow } from '../identity/sessions-sql.ts';
import { isoOf } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import { assertAccount } from './console/accounts.ts';
import { actorOf } from './console/operators.ts';
import type { ConsoleContext, PageContext } from './context.ts';
import { PageReply, sessionCookie, sessionTokenOf } from './page-reply.ts';
import { pageRoute } from './page-route.ts';
import { type Area, type PageSession, roles } from './page-session.ts';
import { instant } from './shapes.ts';

/** Who is signed in to the dashboard. */
export function ownerSessionPage({ reads, identity }: PageContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/session',
    summary: 'The owner who is signed in',
    response: z.strictObject({
      kind: z.literal('owner'),
      name: z.string().describe('The name of the account'),
      email: z.string().nullable().describe('Of the owner; null for a session of the account itself'),
      account_id: z.int(),
      via: z.string().describe('How the session was opened'),
    }),
    handle: async ({ session: { kind, accountId, ownerId, via } }) => {
      const account = await findAccount(reads, accountId);
      const owner = ownerId === null ? null : await identity.owners.read(ownerId);
      return { kind, name: account?.name ?? '', email: owner?.email ?? null, account_id: accountId, via };
    },
  });
}

/** Who is signed in to the console. */
export function operatorSessionPage() {
  return pageRoute({
    method: 'GET',
    path: '/console/api/session',
    summary: 'The operator who is signed in',
    response: z.strictObject({ kind: z.literal('operator'), name: z.string(), role: z.enum(roles) }),
    handle: ({ session: { kind, name, role } }) => ({ kind, name, role }),
  });
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
const openSessionShape = sessionShape.extend({
  operator: z.string().nullable().describe('The name of the operator; null: a session of an account'),
});
const revokedShape = z.strictObject({ revoked: z.int() });

/** Signing out, and the sessions of the owner (U12), with those of its account, or of the operator. */
export function sessionPages(area: Area, { identity }: PageContext) {
  const path = `/${area}/api/sessions` as const;
  return [
    pageRoute({
      method: 'DELETE',
      path: `/${area}/api/session` as const,
      credential: 'person',
      summary: 'Sign out',
      response: z.strictObject({ signed_out: z.literal(true) }),
      handle: async ({ client }) => {
        const token = sessionTokenOf(area, client);
        if (token !== null) await identity.sessions.signOut(token);
        const cookies = [sessionCookie(area, null, client)];
        return new PageReply({ body: { signed_out: true }, cookies });
      },
    }),
    pageRoute({
      method: 'GET',
      path,
      credential: 'person',
      summary: 'The open sessions of the owner, with those of the account itself, or of the operator',
      response: z.strictObject({ items: z.array(sessionShape) }),
      handle: async ({ session }) => ({
        items: (await identity.sessions.list(session)).map((row) => shown(row, session)),
      }),
    }),
    pageRoute({
      method: 'DELETE',
      path: `${path}/{id}`,
      credential: 'person',
      summary: 'End a session of the list, on every node at once',
      response: revokedShape,
      handle: async ({ session, params: { id } }) => {
        if (!(await identity.sessions.revoke(id, session)))
          throw refuse('not_found', messages.noSuchSession());
        return { revoked: 1 };
      },
    }),
    pageRoute({
      method: 'POST',
      path: `${path}/revoke-others`,
      credential: 'person',
      summary: 'End every other session of the list',
      response: revokedShape,
      handle: async ({ session }) => ({
        revoked: await identity.sessions.revokeOthers(session, session.sessionId),
      }),
    }),
  ];
}

/** The open sessions of all operators, or of one account, and their end by an administrator. */
export function openSessionPages({ reads, identity }: ConsoleContext) {
  const path = '/console/api/open-sessions';
  const scopeOf = async (account: number | undefined) => {
    if (account === undefined) return { kind: 'operators' } as const;
    await assertAccount(reads, account);
    return { kind: 'account', accountId: account } as const;
  };
  return [
    pageRoute({
      method: 'GET',
      path,
      credential: 'person',
      role: 'admin',
      summary: 'The open sessions of an account, or of all operators',
      query: z.object({ account: integerText(1).optional() }),
      response: z.strictObject({ items: z.array(openSessionShape) }),
      handle: async ({ session, query }) => {
        const rows = await identity.sessions.list(await scopeOf(query.account));
        return {
          items: rows.map((row) => ({ ...shown(row, session), operator: row.operator?.name ?? null })),
        };
      },
    }),
    pageRoute({
      method: 'POST',
      path: `${path}/end`,
      credential: 'person',
      role: 'admin',
      summary: 'End one of these sessions, or all but the own, on every node at once',
      body: z.object({ account: z.int().min(1).optional(), session: z.string().max(18).optional() }),
      response: revokedShape,
      handle: async ({ session, body }) => {
        const scope = await scopeOf(body.account);
        const actor = actorOf(session);
        if (body.session === undefined)
          return { revoked: await identity.sessions.revokeOthers(scope, session.sessionId, actor) };
        if (!(await identity.sessions.revoke(body.session, scope, actor)))
          throw refuse('not_found', messages.noSuchSession());
        return { revoked: 1 };
      },
    }),
  ];
}

function shown(row: SessionRow, { sessionId }: PageSession): z.input<typeof sessionShape> {
  return {
    id: row.sessionId,
    via: row.via,
    address: row.address,
    user_agent: row.userAgent,
    created_at: isoOf(row.createdAtMs),
    last_seen_at: isoOf(row.lastSeenAtMs),
    expires_at: isoOf(row.expiresAtMs),
    is_current: row.sessionId === sessionId,
    is_of_account: row.operator === null && row.ownerId === null,
  };
}
