import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import type { PageClient } from '../page-client.ts';
import type { OwnerSession } from '../page-session.ts';
import { attemptRefusal, signInClientOf } from '../sign-in-outcome.ts';

/** The owner of a session. Refuses a session of the account itself: it has no credentials. */
export function ownerOf({ ownerId }: OwnerSession): number {
  if (ownerId === null) throw new PageRefusal('owner_required', pageMessages.ownerRequired);
  return ownerId;
}

/** The owner of a session that may change credentials: it is recent, or the password came along. */
export async function confirmedOwner(
  identity: Identity,
  {
    session,
    client,
    password,
  }: {
    readonly session: OwnerSession;
    readonly client: PageClient;
    readonly password: string | undefined;
  },
): Promise<number> {
  const ownerId = ownerOf(session);
  const outcome = await identity.owners.confirm(
    session,
    password ?? null,
    signInClientOf('dashboard', client),
  );
  if (outcome === 'confirm')
    throw new PageRefusal('confirmation_required', pageMessages.confirmationRequired);
  if (outcome !== 'confirmed') throw attemptRefusal(outcome);
  return ownerId;
}
