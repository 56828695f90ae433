import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import type { OidcSignIn } from '../identity/oidc.ts';
import { type PasskeySite, passkeySite } from '../identity/passkeys.ts';
import { maxQueryBytes } from '../wire/shapes/query.ts';
import type { SitePageContext } from './context.ts';
import { challengeShape, tokenText } from './identity-shapes.ts';
import type { PageClient } from './page-client.ts';
import { cookieLine, ownCookie, PageReply, redirectTo, sessionCookie } from './page-reply.ts';
import { pageRoute } from './page-route.ts';
import type { Area } from './page-session.ts';
import { assertMayBegin, signInClientOf, signInPage } from './sign-in-outcome.ts';

/**
 * Of a sign-in at the provider: it returns from another site, where a strict cookie would not come
 * back.
 */
const stepCookie = 'naru_sign_in';

/** A credential as browsers write it; identity verifies what it contains. */
const credential = z.looseObject({ id: z.string().max(2_000), response: z.looseObject({}) });

/** Sign-in by a passkey, and at an OpenID provider. */
export function externalSignInPages(area: Area, parts: SitePageContext) {
  return [
    passkeyOptionsPage(area, parts),
    passkeyPage(area, parts),
    oidcPage(area, parts),
    oidcCallbackPage(area, parts),
  ];
}

function passkeyOptionsPage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'POST',
    path: `/${area}/api/sign-in/passkey/options` as const,
    credential: 'none',
    summary: 'The challenge for a passkey',
    response: challengeShape,
    handle: async ({ client }) => {
      const { identity } = parts;
      await assertMayBegin(identity, area, client);
      const passkeys = area === 'console' ? identity.operatorPasskeys : identity.passkeys;
      const { step, options } = await passkeys.beginSignIn(passkeySiteOf(area, parts, client));
      return { step, options: { ...options } };
    },
  });
}

function passkeyPage(area: Area, parts: SitePageContext) {
  return signInPage({
    path: `/${area}/api/sign-in/passkey` as const,
    summary: 'Sign in with a passkey',
    body: z.object({ step: tokenText, response: credential }),
    attempt: ({ body: { step, response }, client: browser }, client) => {
      const { signIn } = parts.identity;
      const reply = { step, response: response as unknown as AuthenticationResponseJSON };
      const site = passkeySiteOf(area, parts, browser);
      return area === 'console'
        ? signIn.withOperatorPasskey(site, reply, client)
        : signIn.withPasskey(site, reply, client);
    },
  });
}

function oidcPage(area: Area, parts: SitePageContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: `/${area}/api/sign-in/oidc` as const,
    credential: 'none',
    summary: 'Redirect to the sign-in page of the OpenID provider',
    response: z.strictObject({ url: z.string() }),
    handle: async ({ client }) => {
      await assertMayBegin(identity, area, client);
      const provider = assertProvider(area, parts, client);
      const begun = await provider.begin(kindOf(area), callbackOf(area, parts, client).href);
      if (begun === null) throw new PageRefusal('provider_away', pageMessages.providerAway);
      return new PageReply({
        body: { url: begun.url },
        cookies: [stepCookieOf(area, begun.step, client)],
      });
    },
  });
}

function oidcCallbackPage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/sign-in/oidc/callback` as const,
    credential: 'none',
    summary: 'The redirect URI of the OpenID provider; redirects to the pages',
    query: z.record(z.string().max(maxQueryBytes), z.string().max(maxQueryBytes)),
    response: z.string(),
    handle: async ({ query, client }) => {
      const provider = assertProvider(area, parts, client);
      const returned = callbackOf(area, parts, client);
      for (const [name, value] of Object.entries(query)) returned.searchParams.set(name, value);
      const step = ownCookie(stepCookie, client) ?? '';
      const outcome = await provider.end(kindOf(area), step, returned, signInClientOf(area, client));
      const cookies = [stepCookieOf(area, null, client)];
      if (outcome.kind === 'session') cookies.push(sessionCookie(area, outcome.session.token, client));
      const reason = outcome.kind === 'refused' ? outcome.why : outcome.kind;
      return redirectTo(
        outcome.kind === 'session' ? `/${area}/` : `/${area}/sign-in?refused=${reason}`,
        cookies,
      );
    },
  });
}

/** Who signs in to an area. */
function kindOf(area: Area): 'owner' | 'operator' {
  return area === 'console' ? 'operator' : 'owner';
}

/**
 * The origin at which passkeys and the provider may be used; null: nowhere. Those of the console need
 * its public address.
 */
function siteOriginOf(area: Area, { publicOrigin }: SitePageContext, { origin }: PageClient): string | null {
  if (area === 'console') return origin === publicOrigin ? origin : null;
  return publicOrigin ?? origin;
}

/** The redirect URI; refuses a request whose Host is no host. */
function callbackOf(area: Area, parts: SitePageContext, client: PageClient): URL {
  const url = URL.parse(`/${area}/api/sign-in/oidc/callback`, siteOriginOf(area, parts, client) ?? '');
  if (url === null) throw refuse('invalid_request', messages.invalidValue('Host', requirements.host));
  return url;
}

/** The site of passkeys; null where browsers permit none, and at an address that is not of the site. */
export function findPasskeySite(area: Area, parts: SitePageContext, client: PageClient): PasskeySite | null {
  const site = passkeySite(siteOriginOf(area, parts, client) ?? '');
  return site?.host === URL.parse(client.origin)?.hostname ? site : null;
}

/** The same; refuses where browsers permit none. */
export function passkeySiteOf(area: Area, parts: SitePageContext, client: PageClient): PasskeySite {
  const site = findPasskeySite(area, parts, client);
  if (site === null) throw new PageRefusal('unavailable_here', pageMessages.noPasskeysHere);
  return site;
}

function stepCookieOf(area: Area, step: string | null, client: PageClient): string {
  const kept = {
    path: `/${area}/api/sign-in`,
    sameSite: 'Lax',
    maxAgeSec: step === null ? 0 : 600,
  } as const;
  return cookieLine(stepCookie, step, kept, client);
}

/** The OpenID provider of an area at this address; null: there is none. */
export function findProvider(area: Area, parts: SitePageContext, client: PageClient): OidcSignIn | null {
  const { oidc } = parts.identity;
  const isForArea = area === 'dashboard' || oidc?.isForOperators === true;
  return isForArea && siteOriginOf(area, parts, client) !== null ? oidc : null;
}

function assertProvider(area: Area, parts: SitePageContext, client: PageClient): OidcSignIn {
  const provider = findProvider(area, parts, client);
  if (provider === null) throw new PageRefusal('unavailable_here', pageMessages.noProvider);
  return provider;
}
