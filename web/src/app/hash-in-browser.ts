/** What a whole key looks like: it must not become a part of an address. */
export const plaintextForm = /v1-[0-9a-f]{64}$/;

/**
 * The SHA-256 of a key in hex, computed here: the key itself never leaves the browser. Null where the
 * browser has no cryptography, because the page came over plain HTTP from another machine.
 */
export async function hashInBrowser(plaintext: string): Promise<string | null> {
  if (!globalThis.isSecureContext) return null;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(plaintext));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
