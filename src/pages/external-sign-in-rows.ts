import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import { type PasskeySite, passkeySite } from '../identity/passkeys.ts';
import { maxQueryBytes } from '../wire/shapes/query.ts';
import type { DashboardContext } from './context.ts';
import { challengeShape, tokenText } from './identity-shapes.ts';
import type { PageClient } from './page-client.ts';
import { PageReply, redirectTo, sessionCookie } from './page-reply.ts';
import { pageRoute } from './page-route.ts';
import { assertMayBegin, signInClientOf, signInPage } from './sign-in-outcome.ts';

/**
 * Of a sign-in at the provider: it returns from another site, where a strict cookie would not come
 * back.
 */
const stepCookie = 'naru_sign_in';
const callbackPath = '/dashboard/api/sign-in/oidc/callback';

/** A credential as browsers write it; identity verifies what it contains. */
const credential = z.looseObject({ id: z.string().max(2_000), response: z.looseObject({}) });

/** Sign-in by a passkey, and at an OpenID provider. */
export function externalSignInPages(parts: DashboardContext) {
  return [passkeyOptionsPage(parts), passkeyPage(parts), oidcPage(parts), oidcCallbackPage(parts)];
}

function passkeyOptionsPage(parts: DashboardContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/passkey/options',
    credential: 'none',
    summary: 'The challenge for a passkey',
    response: challengeShape,
    handle: async ({ client }) => {
      await assertMayBegin(identity, client);
      const { step, options } = await identity.passkeys.beginSignIn(passkeySiteOf(parts, client));
      return { step, options: { ...options } };
    },
  });
}

function passkeyPage(parts: DashboardContext) {
  return signInPage({
    path: '/dashboard/api/sign-in/passkey',
    summary: 'Sign in with a passkey',
    body: z.object({ step: tokenText, response: credential }),
    attempt: ({ body: { step, response }, client: browser }, client) => {
      const reply = { step, response: response as unknown as AuthenticationResponseJSON };
      return parts.identity.signIn.withPasskey(passkeySiteOf(parts, browser), reply, client);
    },
  });
}

function oidcPage(parts: DashboardContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/sign-in/oidc',
    credential: 'none',
    summary: 'Redirect to the sign-in page of the OpenID provider',
    response: z.strictObject({ url: z.string() }),
    handle: async ({ client }) => {
      await assertMayBegin(identity, client);
      const begun = await oidcOf(identity).begin(callbackOf(parts, client).href);
      if (begun === null) throw new PageRefusal('provider_away', pageMessages.providerAway);
      return new PageReply({ body: { url: begun.url }, cookies: [stepCookieOf(begun.step, client)] });
    },
  });
}

function oidcCallbackPage(parts: DashboardContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'GET',
    path: callbackPath,
    credential: 'none',
    summary: 'The redirect URI of the OpenID provider; redirects to the dashboard',
    query: z.record(z.string().max(maxQueryBytes), z.string().max(maxQueryBytes)),
    response: z.string(),
    handle: async ({ query, client }) => {
      const returned = callbackOf(parts, client);
      for (const [name, value] of Object.entries(query)) returned.searchParams.set(name, value);
      const step = client.cookie(stepCookie) ?? '';
      const outcome = await oidcOf(identity).end(step, returned, signInClientOf('dashboard', client));
      const cookies = [stepCookieOf(null, client)];
      if (outcome.kind === 'session') cookies.push(sessionCookie('dashboard', outcome.session.token, client));
      const reason = outcome.kind === 'refused' ? outcome.why : outcome.kind;
      return redirectTo(
        outcome.kind === 'session' ? '/dashboard/' : `/dashboard/sign-in?refused=${reason}`,
        cookies,
      );
    },
  });
}

/** The redirect URI; refuses a request whose Host is no host. */
function callbackOf({ publicOrigin }: Pick<DashboardContext, 'publicOrigin'>, client: PageClient): URL {
  const url = URL.parse(callbackPath, publicOrigin ?? client.origin);
  if (url === null) throw refuse('invalid_request', messages.invalidValue('Host', requirements.host));
  return url;
}

/** The site of passkeys; refuses where browsers permit none. */
export function passkeySiteOf(
  { publicOrigin }: Pick<DashboardContext, 'publicOrigin'>,
  client: PageClient,
): PasskeySite {
  const site = passkeySite(publicOrigin ?? client.origin);
  if (site === null) throw new PageRefusal('unavailable_here', pageMessages.noPasskeysHere);
  return site;
}

function stepCookieOf(step: string | null, { isSecure }: PageClient): string {
  return [
    `${stepCookie}=${step ?? ''}`,
    'Path=/dashboard/api/sign-in',
    'HttpOnly',
    'SameSite=Lax',
    `Max-Age=${step === null ? 0 : 600}`,
    ...(isSecure ? ['Secure'] : []),
  ].join('; ');
}

function oidcOf({ oidc }: DashboardContext['identity']) {
  if (oidc === null) throw new PageRefusal('unavailable_here', pageMessages.noProvider);
  return oidc;
}
