import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import { passwordText } from '../identity-shapes.ts';
import type { PageClient } from '../page-client.ts';
import type { OwnerSession } from '../page-session.ts';
import { attemptRefusal, signInClientOf } from '../sign-in-outcome.ts';

/** What the body of a change of credentials has, for a session that is not recent. */
export const confirmation = { current_password: passwordText.optional() };

/** The owner of a session. Refuses a session of the account itself: it has no credentials. */
export function ownerOf({ ownerId }: OwnerSession): number {
  if (ownerId === null) throw new PageRefusal('owner_required', pageMessages.ownerRequired);
  return ownerId;
}

/** The owner of a session that may change credentials: it is recent, or the password came along. */
export async function confirmedOwner(
  { owners }: Identity,
  call: {
    readonly session: OwnerSession;
    readonly client: PageClient;
    readonly body: { readonly current_password?: string | undefined };
  },
): Promise<number> {
  const ownerId = ownerOf(call.session);
  const password = call.body.current_password ?? null;
  const outcome = await owners.confirm(call.session, password, signInClientOf('dashboard', call.client));
  if (outcome === 'confirm')
    throw new PageRefusal('confirmation_required', pageMessages.confirmationRequired);
  if (outcome !== 'confirmed') throw attemptRefusal(outcome);
  return ownerId;
}
