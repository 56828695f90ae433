import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import type { Passkey } from '../../identity/passkeys-sql.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import type { DashboardContext } from '../context.ts';
import { passkeySiteOf } from '../external-sign-in-rows.ts';
import { challengeShape, passwordText, registrationShape, tokenText } from '../identity-shapes.ts';
import { pageRoute } from '../page-route.ts';
import { instant, sentOnceShape } from '../shapes.ts';
import { attemptRefusal, redeemRefusal } from '../sign-in-outcome.ts';
import { confirmation, confirmedOwner, ownerOf } from './confirm.ts';

const doneShape = z.strictObject({ done: z.literal(true) });
const passkeyShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  created_at: instant,
  last_used_at: instant.nullable(),
});
const done = { done: true } as const;

/**
 * Password, passkeys and TOTP of the owner (U12). A change needs a recent session or the password.
 */
export function credentialPages(parts: DashboardContext) {
  return [...passwordPages(parts.identity), ...passkeyPages(parts), ...totpPages(parts.identity)];
}

function passwordPages(identity: Identity) {
  return [
    pageRoute({
      method: 'PUT',
      path: '/dashboard/api/password',
      summary: 'Set the password; every other session of the owner ends',
      body: z.object({ ...confirmation, password: passwordText }),
      response: doneShape,
      handle: async (call) => {
        const ownerId = await confirmedOwner(identity, call);
        const { password } = call.body;
        const outcome = await identity.owners.setPassword(ownerId, password, call.session.sessionId);
        if (outcome === 'weak_password') throw redeemRefusal('weak_password');
        if (outcome === 'busy') throw attemptRefusal({ kind: 'busy' });
        if (outcome === 'no_such_owner') throw new PageRefusal('owner_required', pageMessages.ownerRequired);
        return done;
      },
    }),
  ];
}

function passkeyPages(parts: DashboardContext) {
  return [
    listPasskeysPage(parts),
    passkeyOptionsPage(parts),
    addPasskeyPage(parts),
    removePasskeyPage(parts),
  ];
}

function listPasskeysPage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/passkeys',
    summary: 'The passkeys of the owner',
    response: z.strictObject({ items: z.array(passkeyShape) }),
    handle: async ({ session }) => ({
      items: (await identity.passkeys.list(ownerOf(session))).map(passkeyOf),
    }),
  });
}

function passkeyOptionsPage(parts: DashboardContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/passkeys/options',
    summary: 'A challenge for a new passkey',
    body: z.object(confirmation),
    response: challengeShape,
    handle: async (call) => {
      const ownerId = await confirmedOwner(identity, call);
      const begun = await identity.passkeys.beginRegistration(ownerId, passkeySiteOf(parts, call.client));
      if (begun === null) throw new PageRefusal('owner_required', pageMessages.ownerRequired);
      return { step: begun.step, options: { ...begun.options } };
    },
  });
}

function addPasskeyPage(parts: DashboardContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/passkeys',
    summary: 'Add the passkey that the browser created',
    body: z.object({ step: tokenText, name: z.string().min(1).max(100), response: registrationShape }),
    response: passkeyShape,
    handle: async ({ session, body, client }) => {
      const response = { ...body.response, clientExtensionResults: {} } as RegistrationResponseJSON;
      const reply = { ...body, response };
      const site = passkeySiteOf(parts, client);
      const added = await identity.passkeys.register(ownerOf(session), site, reply);
      if (added === null) throw new PageRefusal('conflict', pageMessages.passkeyRefused);
      return passkeyOf(added);
    },
  });
}

function removePasskeyPage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'DELETE',
    path: '/dashboard/api/passkeys/{id}',
    summary: 'Remove a passkey',
    body: z.object(confirmation),
    response: doneShape,
    handle: async (call) => {
      const known = await identity.passkeys.list(ownerOf(call.session));
      const passkey = known.find(({ passkeyId }) => String(passkeyId) === call.params.id);
      if (passkey === undefined) throw refuse('not_found', messages.noSuchPasskey());
      await identity.passkeys.remove(await confirmedOwner(identity, call), passkey.passkeyId);
      return done;
    },
  });
}

function totpPages(identity: Identity) {
  return [
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/totp',
      summary: 'Start the setup of TOTP; returns the secret for the authenticator app',
      body: z.object(confirmation),
      response: z.strictObject({
        secret: z.string().nullable(),
        uri: z.string().nullable().describe('For a QR code'),
        ...sentOnceShape,
      }),
      sentOnce: { members: ['secret', 'uri'], message: pageMessages.totpSecretSentOnce },
      handle: async (call) => {
        const begun = await identity.owners.beginTotp(await confirmedOwner(identity, call));
        if (begun === null) throw new PageRefusal('conflict', pageMessages.totpIsOn);
        return { ...begun, message: null };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/totp/enable',
      summary: 'Turn TOTP on with a code of the app; returns the recovery codes, which are not shown again',
      body: z.object({ code: z.string().max(100) }),
      response: z.strictObject({ recovery_codes: z.array(z.string()).nullable(), ...sentOnceShape }),
      sentOnce: { members: ['recovery_codes'], message: pageMessages.recoveryCodesSentOnce },
      handle: async ({ session, body: { code } }) => {
        const codes = await identity.owners.enableTotp(ownerOf(session), code.replaceAll(' ', ''));
        if (codes === null) throw new PageRefusal('conflict', pageMessages.wrongCode);
        return { recovery_codes: [...codes], message: null };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/totp/disable',
      summary: 'Turn TOTP off',
      body: z.object(confirmation),
      response: doneShape,
      handle: async (call) => {
        await identity.owners.disableTotp(await confirmedOwner(identity, call));
        return done;
      },
    }),
  ];
}

function passkeyOf(row: Passkey): z.input<typeof passkeyShape> {
  return {
    id: String(row.passkeyId),
    name: row.name,
    created_at: isoOf(row.createdAtMs),
    last_used_at: isoOrNull(row.lastUsedAtMs),
  };
}
