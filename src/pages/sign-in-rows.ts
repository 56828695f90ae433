import { z } from 'zod';
import { hashKey, type KeyHash } from '../accounts/api-key.ts';
import type { KeyRow } from '../accounts/keys.ts';
import { ownRules } from '../accounts/rules.ts';
import type { Identity } from '../identity/identity.ts';
import { passkeySite } from '../identity/passkeys.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { pageRoute } from './page-route.ts';
import type { Area } from './page-session.ts';
import { instant } from './shapes.ts';
import {
  assertMayBegin,
  redeemRefusal,
  signInClientOf,
  signInReply,
  signInShape,
} from './sign-in-outcome.ts';

/** What the rows of the sign-in need. */
export interface SignInPageParts {
  readonly identity: Identity;
  readonly clock: Clock;
  /**
   * The origin of the dashboard that the configuration states; null: the one that the browser uses.
   */
  readonly publicOrigin: string | null;
  readonly readKey: (hash: KeyHash) => Promise<KeyRow | null>;
}

const secret = z.string().min(1).max(1_000);
const token = z.string().min(1).max(200);

/** The ways into the console: a one-time link. */
export function consoleSignInPages({ identity }: Pick<SignInPageParts, 'identity'>) {
  return [
    pageRoute({
      method: 'POST',
      path: '/console/api/sign-in/link',
      area: 'console',
      credential: 'none',
      summary: 'Sign in as an operator with a one-time link',
      body: z.object({ token }),
      response: signInShape,
      handle: async ({ body, client }) =>
        signInReply(
          'console',
          client,
          await identity.signIn.withLink('console', body.token, signInClientOf('console', client)),
        ),
    }),
  ];
}

/** The ways into the dashboard: password and code, management key, one-time link, invitation. */
export function dashboardSignInPages(parts: SignInPageParts) {
  const { identity, clock } = parts;
  const area: Area = 'dashboard';
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/sign-in',
      area,
      credential: 'none',
      summary: 'The sign-in methods of this server',
      response: z.strictObject({
        password: z.boolean(),
        passkey: z.boolean(),
        oidc: z.boolean(),
        oidc_name: z.string().nullable().describe('The label of the button for the provider'),
        key: z.boolean(),
      }),
      handle: ({ client }) => ({
        password: true,
        passkey: passkeySite(parts.publicOrigin ?? client.origin) !== null,
        oidc: identity.oidc !== null,
        oidc_name: identity.oidc?.name ?? null,
        key: true,
      }),
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sign-in/password',
      area,
      credential: 'none',
      summary: 'Sign in with an e-mail address and a password',
      body: z.object({ email: z.string().min(1).max(320), password: secret }),
      response: signInShape,
      handle: async ({ body, client }) =>
        signInReply(area, client, await identity.signIn.withPassword(body, signInClientOf(area, client))),
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sign-in/code',
      area,
      credential: 'none',
      summary: 'The second step: a code of the app, or a recovery code',
      body: z.object({ step: token, code: z.string().min(1).max(100) }),
      response: signInShape,
      handle: async ({ body, client }) =>
        signInReply(area, client, await identity.signIn.withCode(body, signInClientOf(area, client))),
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sign-in/key',
      area,
      credential: 'none',
      summary: 'Sign in with a management key, for up to 12 hours',
      body: z.object({ key: secret }),
      response: signInShape,
      handle: async ({ body, client }) => {
        const row = await parts.readKey(hashKey(body.key.trim()));
        const key =
          row !== null && maySignIn(row, clock.now()) ? { keyId: row.id, accountId: row.accountId } : null;
        return signInReply(area, client, await identity.signIn.withKey(key, signInClientOf(area, client)));
      },
    }),
    ...linkPages(parts),
  ];
}

/** A key without credit may sign in: its owner must be able to request a top-up. */
function maySignIn(row: KeyRow, nowMs: number): boolean {
  return row.kind === 'management' && !ownRules.some((rule) => rule.applies({ row, nowMs }));
}

const newOwner = {
  email: z.string().min(1).max(320),
  password: secret,
  name: z.string().max(200).nullable(),
};

/** One-time links: the token comes in a body, so that no log has it. */
function linkPages(parts: SignInPageParts) {
  return [readLinkPage(parts), useLinkPage(parts), redeemLinkPage(parts), claimPage(parts)];
}

function readLinkPage({ identity }: SignInPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/link/read',
    area: 'dashboard',
    credential: 'none',
    summary: 'What a one-time link does, without using it',
    body: z.object({ token }),
    response: z.strictObject({
      purpose: z.enum(['invitation', 'reset', 'account']),
      email: z.string().nullable().describe('Set by the operator; null: the owner enters it'),
      expires_at: instant,
    }),
    handle: async ({ body, client }) => {
      await assertMayBegin(identity, client);
      const link = await identity.links.read(body.token);
      if (link === null || link.purpose === 'console') throw redeemRefusal('invalid_link');
      return { purpose: link.purpose, email: link.email, expires_at: isoOf(link.expiresAtMs) };
    },
  });
}

function useLinkPage({ identity }: SignInPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/link',
    area: 'dashboard',
    credential: 'none',
    summary: 'Sign in with the one-time link of an account',
    body: z.object({ token }),
    response: signInShape,
    handle: async ({ body, client }) =>
      signInReply(
        'dashboard',
        client,
        await identity.signIn.withLink('account', body.token, signInClientOf('dashboard', client)),
      ),
  });
}

function redeemLinkPage({ identity }: SignInPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/link/redeem',
    area: 'dashboard',
    credential: 'none',
    summary: 'Accept an invitation or reset the password; signs in',
    body: z.object({
      token,
      password: secret,
      email: newOwner.email.nullable().optional(),
      name: newOwner.name.optional(),
    }),
    response: signInShape,
    handle: async ({ body, client }) => {
      const order = { ...body, email: body.email ?? null, name: body.name ?? null };
      return signInReply(
        'dashboard',
        client,
        await identity.owners.redeem(order, signInClientOf('dashboard', client)),
      );
    },
  });
}

function claimPage({ identity }: SignInPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/claim',
    area: 'dashboard',
    credential: 'session',
    summary: 'Make an owner of the account that a one-time link opened; signs in as the owner',
    body: z.object({ ...newOwner, name: newOwner.name.optional() }),
    response: signInShape,
    handle: async ({ body, session, client }) => {
      const order = { ...body, name: body.name ?? null };
      const outcome = await identity.owners.claim(session, order, signInClientOf('dashboard', client));
      return signInReply('dashboard', client, outcome);
    },
  });
}
