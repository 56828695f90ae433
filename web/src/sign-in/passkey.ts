import { change, type ResponseOf } from '../api/client.ts';
import type { Area } from '../app/pages.ts';

/** What a sign-in leads to. */
export type SignedIn = ResponseOf<'POST /dashboard/api/sign-in/passkey'>;

/** Whether this browser can use passkeys in the way that the page does. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** Signs in by a passkey. Null when the person closed the browser's dialog. */
export async function signInByPasskey(area: Area): Promise<SignedIn | null> {
  const { step, options } = await change(`POST /${area}/api/sign-in/passkey/options` as const, {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey }).catch((error: unknown) => {
    if (error instanceof DOMException && ['NotAllowedError', 'AbortError'].includes(error.name)) return null;
    throw error;
  });
  if (!(credential instanceof PublicKeyCredential)) return null;
  const { id, response, ...rest } = credential.toJSON();
  return change(`POST /${area}/api/sign-in/passkey` as const, {
    body: { step, response: { ...rest, id, response: { ...response } } },
  });
}
