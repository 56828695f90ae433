import { z } from 'zod';
import { hashKey } from '../accounts/api-key.ts';
import type { KeyRow } from '../accounts/keys.ts';
import { ownRules } from '../accounts/rules.ts';
import type { Identity } from '../identity/identity.ts';
import { isoOf } from '../time/clock.ts';
import type { DashboardContext, SitePageContext } from './context.ts';
import { findPasskeySite, findProvider } from './external-sign-in-rows.ts';
import { emailText, passwordText, personName, tokenText } from './identity-shapes.ts';
import { pageRoute } from './page-route.ts';
import { instant } from './shapes.ts';
import {
  assertMayBegin,
  redeemRefusal,
  signInClientOf,
  signInPage,
  signInReply,
  signInShape,
} from './sign-in-outcome.ts';

/** The ways into the console but those of `externalSignInPages`: a one-time link. */
export function consoleSignInPages(parts: SitePageContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/sign-in',
      credential: 'none',
      summary: 'The sign-in methods of this address besides a one-time link',
      response: z.strictObject({ passkey: z.boolean(), oidc: z.boolean() }),
      handle: ({ client }) => ({
        passkey: findPasskeySite('console', parts, client) !== null,
        oidc: findProvider('console', parts, client) !== null,
      }),
    }),
    signInPage({
      path: '/console/api/sign-in/link',
      summary: 'Sign in as an operator with a one-time link',
      body: z.object({ token: tokenText }),
      attempt: ({ body }, client) => parts.identity.signIn.withLink('console', body.token, client),
    }),
  ];
}

/** The ways into the dashboard: password and code, management key, one-time link, invitation. */
export function dashboardSignInPages(parts: DashboardContext) {
  const { identity, clock } = parts;
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/sign-in',
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
        passkey: findPasskeySite('dashboard', parts, client) !== null,
        oidc: identity.oidc !== null,
        oidc_name: identity.oidc?.name ?? null,
        key: true,
      }),
    }),
    signInPage({
      path: '/dashboard/api/sign-in/password',
      summary: 'Sign in with an e-mail address and a password',
      body: z.object({ email: emailText, password: passwordText }),
      attempt: ({ body }, client) => identity.signIn.withPassword(body, client),
    }),
    signInPage({
      path: '/dashboard/api/sign-in/code',
      summary: 'The second step: a code of the app, or a recovery code',
      body: z.object({ step: tokenText, code: z.string().min(1).max(100) }),
      attempt: ({ body }, client) => identity.signIn.withCode(body, client),
    }),
    signInPage({
      path: '/dashboard/api/sign-in/key',
      summary: 'Sign in with a management key, for up to 12 hours',
      body: z.object({ key: z.string().min(1).max(1_000) }),
      attempt: async ({ body }, client) => {
        const row = await parts.readKey(hashKey(body.key.trim()));
        const key =
          row !== null && maySignIn(row, clock.now()) ? { keyId: row.id, accountId: row.accountId } : null;
        return identity.signIn.withKey(key, client);
      },
    }),
    ...linkPages(identity),
  ];
}

/** A key without credit may sign in: its owner must be able to request a top-up. */
function maySignIn(row: KeyRow, nowMs: number): boolean {
  return row.kind === 'management' && !ownRules.some((rule) => rule.applies({ row, nowMs }));
}

/** One-time links: the token comes in a body, so that no log has it. */
function linkPages(identity: Identity) {
  return [
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sign-in/link/read',
      credential: 'none',
      summary: 'What a one-time link does, without using it',
      body: z.object({ token: tokenText }),
      response: z.strictObject({
        purpose: z.enum(['invitation', 'reset', 'account']),
        email: z.string().nullable().describe('Set by the operator; null: the owner enters it'),
        expires_at: instant,
      }),
      handle: async ({ body, client }) => {
        await assertMayBegin(identity, 'dashboard', client);
        const link = await identity.links.read(body.token);
        if (link === null || link.purpose === 'console') throw redeemRefusal('invalid_link');
        return { purpose: link.purpose, email: link.email, expires_at: isoOf(link.expiresAtMs) };
      },
    }),
    signInPage({
      path: '/dashboard/api/sign-in/link',
      summary: 'Sign in with the one-time link of an account',
      body: z.object({ token: tokenText }),
      attempt: ({ body }, client) => identity.signIn.withLink('account', body.token, client),
    }),
    signInPage({
      path: '/dashboard/api/sign-in/link/redeem',
      summary: 'Accept an invitation or reset the password; signs in',
      body: z.object({
        token: tokenText,
        password: passwordText,
        email: emailText.nullable().default(null),
        name: personName.default(null),
      }),
      attempt: ({ body }, client) => identity.owners.redeem(body, client),
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/sign-in/claim',
      summary: 'Make an owner of the account that a one-time link opened; signs in as the owner',
      body: z.object({ email: emailText, password: passwordText, name: personName.default(null) }),
      response: signInShape,
      handle: async ({ body, session, client }) => {
        const outcome = await identity.owners.claim(session, body, signInClientOf('dashboard', client));
        return signInReply('dashboard', client, outcome);
      },
    }),
  ];
}
