/** The longest address that mail accepts. */
const maxEmailLength = 254;

/** An e-mail address as it is stored, and as it is compared. */
export interface Email {
  readonly text: string;
  /** In lower case and Unicode normal form: two spellings of one address are one owner. */
  readonly key: string;
}

/** Parses an e-mail address; null for what cannot be one. */
export function parseEmail(text: string): Email | null {
  const trimmed = text.trim().normalize('NFC');
  if (trimmed.length > maxEmailLength || !trimmed.isWellFormed()) return null;
  const at = trimmed.lastIndexOf('@');
  const local = trimmed.slice(0, at);
  const domain = trimmed.slice(at + 1);
  if (at < 1 || local.length > 64 || /[\s\p{C}@<>()",;:\\]/u.test(local)) return null;
  const isDomain = domain
    .split('.')
    .every((label) => /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u.test(label));
  return isDomain && domain !== '' ? { text: trimmed, key: trimmed.toLowerCase() } : null;
}

/** Whether a text can name an operator: one line of at most 60 characters, or an e-mail address. */
export function isOperatorName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u.test(text) || parseEmail(text)?.text === text;
}

/** The domain of an address, in lower case. */
export function domainOf({ key }: Email): string {
  return key.slice(key.lastIndexOf('@') + 1);
}
