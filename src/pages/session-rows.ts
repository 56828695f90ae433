import { z } from 'zod';
import { readAccount } from '../accounts/accounts.ts';
import type { Identity } from '../identity/identity.ts';
import type { Database } from '../store/database.ts';
import { PageReply, sessionCookie, sessionCookies } from './page-reply.ts';
import { pageRoute } from './page-route.ts';
import { type Area, roles } from './page-session.ts';

/** What the rows of the present session need. */
export interface SessionPageParts {
  readonly reads: Database;
  readonly identity: Pick<Identity, 'sessions' | 'owners'>;
}

/** `GET` and `DELETE /<area>/api/session`: who is signed in, and signing out. */
export function sessionPages(area: Area, parts: SessionPageParts) {
  return area === 'dashboard' ? ownerSessionPages(parts) : operatorSessionPages(parts);
}

function ownerSessionPages({ reads, identity }: SessionPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/session',
      area: 'dashboard',
      credential: 'session',
      summary: 'The owner who is signed in',
      response: z.strictObject({
        kind: z.literal('owner'),
        name: z.string().describe('The name of the account'),
        email: z.string().nullable().describe('Of the owner; null for a session of the account itself'),
        account_id: z.int(),
        via: z.string().describe('How the session was opened'),
      }),
      handle: async ({ session: { accountId, ownerId, via } }) => {
        const account = await readAccount(reads, accountId);
        const owner = ownerId === null ? null : await identity.owners.read(ownerId);
        return {
          kind: 'owner' as const,
          name: account?.name ?? '',
          email: owner?.email ?? null,
          account_id: accountId,
          via,
        };
      },
    }),
    pageRoute({
      method: 'DELETE',
      path: '/dashboard/api/session',
      area: 'dashboard',
      credential: 'session',
      summary: 'Sign out',
      response: signedOutShape,
      handle: (call) => signedOut('dashboard', identity, call.client),
    }),
  ];
}

function operatorSessionPages({ identity }: SessionPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/session',
      area: 'console',
      credential: 'session',
      summary: 'The operator who is signed in',
      response: z.strictObject({ kind: z.literal('operator'), name: z.string(), role: z.enum(roles) }),
      handle: ({ session: { name, role } }) => ({ kind: 'operator' as const, name, role }),
    }),
    pageRoute({
      method: 'DELETE',
      path: '/console/api/session',
      area: 'console',
      credential: 'session',
      summary: 'Sign out',
      response: signedOutShape,
      handle: (call) => signedOut('console', identity, call.client),
    }),
  ];
}

const signedOutShape = z.strictObject({ signed_out: z.literal(true) });

async function signedOut(
  area: Area,
  { sessions }: Pick<Identity, 'sessions'>,
  client: { readonly isSecure: boolean; cookie(name: string): string | null },
): Promise<PageReply> {
  const token = client.cookie(sessionCookies[area]);
  if (token !== null) await sessions.signOut(token);
  return new PageReply({ body: { signed_out: true }, cookies: [sessionCookie(area, null, client.isSecure)] });
}
