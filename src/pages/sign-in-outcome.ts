import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { type Bilingual, messages } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { type PageFailure, PageRefusal } from '../errors/page-refusal.ts';
import { limitedAs } from '../http/client-ip.ts';
import type { Identity } from '../identity/identity.ts';
import type { RedeemFault, RedeemOutcome } from '../identity/owners.ts';
import type { SignInClient } from '../identity/sessions.ts';
import type { SignInOutcome } from '../identity/sign-in.ts';
import type { PageClient } from './page-client.ts';
import { PageReply, sessionCookie, sessionTokenOf } from './page-reply.ts';
import { areaOf, type PageCall, pageRoute } from './page-route.ts';
import type { Area } from './page-session.ts';

/** What a sign-in leads to: a session, whose cookie comes with the response, or a second step. */
export const signInShape = z.strictObject({
  state: z.enum(['signed_in', 'code_required']),
  step: z.string().nullable().describe('The token for the second step'),
});

/** Declares a row that signs in, and so needs no session. */
export function signInPage<const P extends `/${Area}/api/${string}`, B extends z.ZodType>({
  attempt,
  ...declared
}: {
  readonly path: P;
  readonly summary: string;
  readonly body: B;
  readonly attempt: (call: PageCall<'none', P, undefined, B>, client: SignInClient) => Promise<RedeemOutcome>;
}) {
  const area = areaOf(declared.path);
  return pageRoute({
    ...declared,
    method: 'POST',
    credential: 'none',
    response: signInShape,
    handle: async (call) =>
      signInReply(area, call.client, await attempt(call, signInClientOf(area, call.client))),
  });
}

/** The browser of an attempt, as identity counts it. */
export function signInClientOf(area: Area, client: PageClient): SignInClient {
  return {
    address: client.ip,
    userAgent: client.userAgent ?? '',
    earlierToken: sessionTokenOf(area, client),
    limitedAs: limitedAs(client.ip),
  };
}

/**
 * The response to a sign-in. Refuses a failed one: a wrong password and an unknown name look the
 * same.
 */
export function signInReply(area: Area, client: PageClient, outcome: RedeemOutcome): PageReply {
  switch (outcome.kind) {
    case 'session':
      return new PageReply({
        body: { state: 'signed_in', step: null },
        cookies: [sessionCookie(area, outcome.session.token, client)],
      });
    case 'totp':
      return new PageReply({ body: { state: 'code_required', step: outcome.step } });
    case 'refused':
      throw redeemRefusal(outcome.why);
    case 'failed':
    case 'closed':
    case 'throttled':
    case 'busy':
      throw attemptRefusal(outcome);
  }
}

/** The refusal of an attempt that failed, or was not made. */
export function attemptRefusal(
  outcome: Extract<SignInOutcome, { kind: 'failed' | 'closed' | 'throttled' | 'busy' }>,
): Error {
  if (outcome.kind === 'failed') return new PageRefusal('sign_in_refused', pageMessages.signInRefused);
  if (outcome.kind === 'closed') return new PageRefusal('sign_in_refused', pageMessages.accountClosed);
  if (outcome.kind === 'busy') return refuse('overloaded', messages.overloaded(), { retry_after_sec: 2 });
  const { retryAfterSec } = outcome;
  return new PageRefusal('too_many_attempts', pageMessages.tooManyAttempts, { retryAfterSec });
}

/**
 * Refuses a browser that requests too many challenges and links: each is a row of the database,
 * read or stored.
 */
export async function assertMayBegin(
  identity: Pick<Identity, 'signIn'>,
  area: Area,
  client: PageClient,
): Promise<void> {
  const retryAfterSec = await identity.signIn.countBegin(signInClientOf(area, client));
  if (retryAfterSec !== null) throw attemptRefusal({ kind: 'throttled', retryAfterSec });
}

const redeemRefusals: Readonly<Record<RedeemFault, readonly [PageFailure, Bilingual]>> = {
  invalid_link: ['invalid_link', pageMessages.invalidLink],
  invalid_email: ['invalid_email', pageMessages.invalidEmail],
  email_taken: ['email_taken', pageMessages.emailTaken],
  account_has_owner: ['conflict', pageMessages.accountHasOwner],
  weak_password: ['weak_password', pageMessages.weakPassword],
};

/** The refusal of what prevents an owner from being made. */
export function redeemRefusal(why: RedeemFault): PageRefusal {
  return new PageRefusal(...redeemRefusals[why]);
}
