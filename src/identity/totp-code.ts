import { createHmac, randomBytes } from 'node:crypto';

/**
 * Time-based one-time passwords (RFC 6238) as every authenticator app knows them: SHA-1, 6 digits,
 * 30 s.
 */
const stepMs = 30_000;
const digits = 6;
const secretBytes = 20;
/** How many steps a code may be early or late. */
const toleranceSteps = 1;

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A random secret. */
export function newTotpSecret(): Buffer {
  return randomBytes(secretBytes);
}

/** The code of a time step (RFC 4226, 5.3). */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  const value = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits;
  return String(value).padStart(digits, '0');
}

/** The time step of an instant. */
export function totpStepAt(atMs: number): number {
  return Math.floor(atMs / stepMs);
}

/** The step near the instant whose code this is, above `afterStep`; null when there is none. */
export function matchingStep(secret: Buffer, code: string, atMs: number, afterStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = totpStepAt(atMs);
  let found: number | null = null;
  for (let step = now - toleranceSteps; step <= now + toleranceSteps; step += 1)
    if (step > afterStep && totpCode(secret, step) === code) found = step;
  return found;
}

/** The address that an authenticator app reads from a QR code. */
export function totpUri(
  secret: Buffer,
  { issuer, name }: { readonly issuer: string; readonly name: string },
): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${digits}&period=${stepMs / 1000}`;
}

/** Base32 without padding (RFC 4648). */
export function base32(bytes: Buffer): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => base32Alphabet.charAt(Number.parseInt(group.padEnd(5, '0'), 2)))
    .join('');
}
