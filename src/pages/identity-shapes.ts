import { z } from 'zod';
import { maxPasswordLength } from '../identity/password-hasher.ts';

/**
 * Shapes of sign-in and of credentials. Lengths are bounded; what is right is decided by identity.
 */

/** In UTF-16 units: a character of the longest password may have two. */
export const passwordText = z.string().max(2 * maxPasswordLength);
export const emailText = z.string().max(320);
export const tokenText = z.string().max(100);
export const personName = z.string().max(200).nullable();
const base64 = z.string().max(20_000);

/** What `navigator.credentials.create()` returns, as JSON. */
export const registrationShape = z.object({
  id: base64,
  rawId: base64,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: base64,
    attestationObject: base64,
    transports: z.array(z.string().max(50)).max(10).optional(),
  }),
});

/** A challenge of a passkey. */
export const challengeShape = z.strictObject({
  step: z.string().describe('To be sent back with the response of the browser'),
  options: z.looseObject({ challenge: z.string() }).describe('For `navigator.credentials`'),
});
