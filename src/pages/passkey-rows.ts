import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import type { Passkeys } from '../identity/passkeys.ts';
import type { Passkey } from '../identity/passkeys-sql.ts';
import { recentSignInMs } from '../identity/sessions.ts';
import { isoOf, isoOrNull, isRecent } from '../time/clock.ts';
import type { SitePageContext } from './context.ts';
import { confirmation, confirmedOwner, ownerOf } from './dashboard/confirm.ts';
import { findPasskeySite, passkeySiteOf } from './external-sign-in-rows.ts';
import { challengeShape, registrationShape, tokenText } from './identity-shapes.ts';
import type { PageClient } from './page-client.ts';
import { pageRoute } from './page-route.ts';
import type { Area, PageSession } from './page-session.ts';
import { instant } from './shapes.ts';

const passkeyShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  created_at: instant,
  last_used_at: instant.nullable(),
});

/**
 * The passkeys of the owner (U12), or of an operator. A change needs a recent session, or the password
 * of the owner.
 */
export function passkeyPages(area: Area, parts: SitePageContext) {
  return [listPage(area, parts), optionsPage(area, parts), addPage(area, parts), removePage(area, parts)];
}

function listPage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/passkeys` as const,
    credential: 'person',
    summary: 'The passkeys of the person',
    response: z.strictObject({
      items: z.array(passkeyShape),
      is_offered: z.boolean().describe('Whether one can be added at this address'),
    }),
    handle: async ({ session, client }) => {
      const { passkeys, id } = holderOf(parts, session);
      const isOffered = findPasskeySite(area, parts, client) !== null && (await passkeys.mayHave(id));
      return { items: (await passkeys.list(id)).map(shown), is_offered: isOffered };
    },
  });
}

function optionsPage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'POST',
    path: `/${area}/api/passkeys/options` as const,
    credential: 'person',
    summary: 'A challenge for a new passkey',
    body: z.object(confirmation),
    response: challengeShape,
    handle: async (call) => {
      await assertConfirmed(parts, call);
      const { passkeys, id } = holderOf(parts, call.session);
      const begun = await passkeys.beginRegistration(id, passkeySiteOf(area, parts, call.client));
      if (begun === null) throw new PageRefusal('unavailable_here', pageMessages.providerDecides);
      return { step: begun.step, options: { ...begun.options } };
    },
  });
}

function addPage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'POST',
    path: `/${area}/api/passkeys` as const,
    credential: 'person',
    summary: 'Add the passkey that the browser created',
    body: z.object({ step: tokenText, name: z.string().min(1).max(100), response: registrationShape }),
    response: passkeyShape,
    handle: async ({ session, body, client }) => {
      const { passkeys, id } = holderOf(parts, session);
      const response = { ...body.response, clientExtensionResults: {} } as RegistrationResponseJSON;
      const added = await passkeys.register(id, passkeySiteOf(area, parts, client), { ...body, response });
      if (added === null) throw new PageRefusal('conflict', pageMessages.passkeyRefused);
      return shown(added);
    },
  });
}

function removePage(area: Area, parts: SitePageContext) {
  return pageRoute({
    method: 'DELETE',
    path: `/${area}/api/passkeys/{id}` as const,
    credential: 'person',
    summary: 'Remove a passkey',
    body: z.object(confirmation),
    response: z.strictObject({ done: z.literal(true) }),
    handle: async (call) => {
      const { passkeys, id } = holderOf(parts, call.session);
      const known = await passkeys.list(id);
      const passkey = known.find(({ passkeyId }) => String(passkeyId) === call.params.id);
      if (passkey === undefined) throw refuse('not_found', messages.noSuchPasskey());
      await assertConfirmed(parts, call);
      await passkeys.remove(id, passkey.passkeyId);
      return { done: true } as const;
    },
  });
}

/** Whose passkeys a session manages. Refuses a session of the account itself. */
function holderOf(
  { identity }: SitePageContext,
  session: PageSession,
): { readonly passkeys: Passkeys; readonly id: number } {
  return session.kind === 'operator'
    ? { passkeys: identity.operatorPasskeys, id: session.operatorId }
    : { passkeys: identity.passkeys, id: ownerOf(session) };
}

/** Refuses a session that may not change credentials. */
async function assertConfirmed(
  { identity, clock }: SitePageContext,
  call: {
    readonly session: PageSession;
    readonly client: PageClient;
    readonly body: { readonly current_password?: string | undefined };
  },
): Promise<void> {
  const { session } = call;
  if (session.kind === 'owner') await confirmedOwner(identity, { ...call, session });
  else if (!isRecent(session.createdAtMs, clock.now(), recentSignInMs))
    throw new PageRefusal('confirmation_required', pageMessages.confirmationRequired);
}

function shown(row: Passkey): z.input<typeof passkeyShape> {
  return {
    id: String(row.passkeyId),
    name: row.name,
    created_at: isoOf(row.createdAtMs),
    last_used_at: isoOrNull(row.lastUsedAtMs),
  };
}
