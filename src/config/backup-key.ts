/** Completes the sentence "backup.encryption_key …". */
export const keyForm =
  'must be an age identity on one line, AGE-SECRET-KEY-1…, as naru backup new-key and age-keygen print it';

/** Whether a text has the form of an age identity; its checksum is not checked. */
export function isBackupKey(text: string): boolean {
  return /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/.test(text);
}
