import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { keyBytesOf, keyForm } from '../config/backup-key.ts';
import { OperatorError } from '../errors/operator-error.ts';

/*
 * Encrypted files of a backup (docs/decisions/backup.md): a head of 40 bytes (`NARUENC1` and a
 * random salt of 32), then chunks of AES-256-GCM, each with its tag. All chunks but the last have
 * 64 KiB of plaintext; the last one, which may be empty, is marked in its nonce. So a chunk that
 * was changed, moved, removed or added is found, and so is a file that ends early.
 */

const magic = Buffer.from('NARUENC1');
const saltBytes = 32;
const tagBytes = 16;
const chunkBytes = 65_536;
const cipherName = 'aes-256-gcm';

/** The key of backups, and what is derived from it. */
export class BackupKey {
  readonly #master: Buffer;

  /** Throws when it is not 32 bytes as 64 hex digits or as base64. */
  constructor(text: string) {
    const master = keyBytesOf(text);
    if (master === null) throw new OperatorError(`the key of backups ${keyForm}`);
    this.#master = master;
  }

  /** Names the key in manifests without revealing it: 16 hex digits. */
  get id(): string {
    return this.#derive('', 'key id').toString('hex').slice(0, 16);
  }

  /** The authentication code of a manifest, in hex. */
  authenticate(text: string): string {
    return createHmac('sha256', this.#derive('', 'manifest')).update(text).digest('hex');
  }

  /** The key of one file. `subject` binds it to the file of one backup. */
  ofFile(salt: Buffer, subject: string): Buffer {
    return this.#derive(salt, `file\0${subject}`);
  }

  #derive(salt: Buffer | string, purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#master, salt, `naru-backup-1\0${purpose}`, 32));
  }
}

/** Encrypts a file. `subject` names the file within all backups; the same is needed to decrypt. */
export async function* encrypt(
  bytes: AsyncIterable<Buffer>,
  key: BackupKey,
  subject: string,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(saltBytes);
  const fileKey = key.ofFile(salt, subject);
  yield Buffer.concat([magic, salt]);
  let index = 0;
  for await (const { chunk, isLast } of chunksOf(bytes, chunkBytes)) {
    const cipher = createCipheriv(cipherName, fileKey, nonceOf(index, isLast));
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
    index += 1;
  }
}

/**
 * Decrypts a file, chunk by chunk; no byte of a changed chunk is returned. Throws an
 * `OperatorError` that `name` begins when the file was changed, ends early or belongs to another
 * subject or key.
 */
export async function* decrypt(
  bytes: AsyncIterable<Buffer>,
  key: BackupKey,
  { subject, name }: { readonly subject: string; readonly name: string },
): AsyncGenerator<Buffer> {
  const damaged = (): Error => new OperatorError(`${name} cannot be decrypted: it is damaged or incomplete`);
  let fileKey: Buffer | null = null;
  let index = 0;
  const headBytes = magic.length + saltBytes;
  for await (const { chunk, isLast } of chunksOf(bytes, chunkBytes + tagBytes, headBytes)) {
    if (fileKey === null) {
      if (isLast || !chunk.subarray(0, magic.length).equals(magic)) throw damaged();
      fileKey = key.ofFile(chunk.subarray(magic.length), subject);
      continue;
    }
    const plain = opened(chunk, fileKey, nonceOf(index, isLast));
    if (plain === null) throw damaged();
    if (plain.length > 0) yield plain;
    index += 1;
  }
}

/** The plaintext of one chunk; null when it was changed. */
function opened(chunk: Buffer, fileKey: Buffer, nonce: Buffer): Buffer | null {
  if (chunk.length < tagBytes) return null;
  const cut = chunk.length - tagBytes;
  const decipher = createDecipheriv(cipherName, fileKey, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(chunk.subarray(cut));
  try {
    return Buffer.concat([decipher.update(chunk.subarray(0, cut)), decipher.final()]);
  } catch {
    return null;
  }
}

/** Twelve bytes: the number of the chunk, and whether it is the last. A key has one file only. */
function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/**
 * Cuts bytes into chunks of `size`, after a first one of `headSize` if that is not 0. The last one
 * may be shorter, or empty when nothing else is left.
 */
async function* chunksOf(
  bytes: AsyncIterable<Buffer>,
  size: number,
  headSize = 0,
): AsyncGenerator<{ readonly chunk: Buffer; readonly isLast: boolean }> {
  let held: Buffer[] = [];
  let length = 0;
  let wanted = headSize > 0 ? headSize : size;
  for await (const piece of bytes) {
    held.push(piece);
    length += piece.length;
    // A full chunk is held back until another byte shows that it is not the last.
    while (length > wanted) {
      const joined = Buffer.concat(held, length);
      yield { chunk: joined.subarray(0, wanted), isLast: false };
      held = [joined.subarray(wanted)];
      length -= wanted;
      wanted = size;
    }
  }
  yield { chunk: Buffer.concat(held, length), isLast: true };
}
