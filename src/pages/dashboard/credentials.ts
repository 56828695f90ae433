import { z } from 'zod';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import type { DashboardContext } from '../context.ts';
import { passwordText } from '../identity-shapes.ts';
import { pageRoute } from '../page-route.ts';
import { passkeyPages } from '../passkey-rows.ts';
import { sentOnceShape } from '../shapes.ts';
import { attemptRefusal, redeemRefusal } from '../sign-in-outcome.ts';
import { confirmation, confirmedOwner, ownerOf } from './confirm.ts';

const doneShape = z.strictObject({ done: z.literal(true) });
const done = { done: true } as const;

/**
 * Password, passkeys and TOTP of the owner (U12). A change needs a recent session or the password.
 */
export function credentialPages(parts: DashboardContext) {
  return [
    ...passwordPages(parts.identity),
    ...passkeyPages('dashboard', parts),
    ...totpPages(parts.identity),
  ];
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
