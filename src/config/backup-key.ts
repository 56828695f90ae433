/** Completes the sentence "backup.encryption_key …". */
export const keyForm = 'must be 32 bytes, as 64 hex digits or as base64 of 44 characters';

/** The 32 bytes of a key; null when the text is not one. */
export function keyBytesOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : null;
}
