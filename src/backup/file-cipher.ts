import { createHmac, hkdfSync } from 'node:crypto';
import { isBackupKey, keyForm } from '../config/backup-key.ts';
import { OperatorError } from '../errors/operator-error.ts';

/** What the library may gather to find the header, which has 168 bytes for one recipient. */
const maxHeaderBytes = 1024;
const sliceBytes = 65_536;

/** The key of backups: an age identity. */
export class BackupKey {
  readonly identity: string;
  /** The public half, which encrypts; it names the key in manifests. */
  readonly recipient: string;

  private constructor(identity: string, recipient: string) {
    this.identity = identity;
    this.recipient = recipient;
  }

  /** Throws an `OperatorError` when the text is not an age identity. */
  static async of(text: string): Promise<BackupKey> {
    if (!isBackupKey(text)) throw new OperatorError(`the key of backups ${keyForm}`);
    const { identityToRecipient } = await import('age-encryption');
    try {
      return new BackupKey(text, await identityToRecipient(text));
    } catch {
      // The library's message quotes the key.
      throw new OperatorError(
        'the key of backups has a mistyped or missing character: its checksum is wrong',
      );
    }
  }

  /** The authentication code of a manifest, in hex. */
  authenticate(text: string): string {
    const key = Buffer.from(hkdfSync('sha256', this.identity, '', 'naru-backup-1\0manifest', 32));
    return createHmac('sha256', key).update(text).digest('hex');
  }
}

/** Encrypts a file, in the format of age. */
export async function* encrypt(bytes: AsyncIterable<Buffer>, key: BackupKey): AsyncGenerator<Buffer> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  encrypter.addRecipient(key.recipient);
  for await (const chunk of await encrypter.encrypt(ReadableStream.from(bytes))) yield bufferOf(chunk);
}

/**
 * Decrypts a file, chunk by chunk; no byte of a changed chunk is returned. Throws an
 * `OperatorError` that `name` begins when the file was changed, ends early or has another key, and
 * the error of `bytes` as it is.
 */
export async function* decrypt(
  bytes: AsyncIterable<Buffer>,
  key: BackupKey,
  name: string,
): AsyncGenerator<Buffer> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addIdentity(key.identity);
  const failures: unknown[] = [];
  const source = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* slices(bytes);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  try {
    for await (const chunk of await decrypter.decrypt(ReadableStream.from(source()))) yield bufferOf(chunk);
  } catch {
    if (failures.length > 0) throw failures[0];
    // The library's messages are about its format.
    throw new OperatorError(
      `${name} cannot be decrypted: it is damaged or incomplete, or it was encrypted with another key`,
    );
  }
}

/**
 * Pieces of at most 64 KiB, since the library transforms a piece without a pause. It reads a header
 * of any length: one beyond `maxHeaderBytes` ends the file here.
 */
async function* slices(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const piece of bytes) {
    const ready: Buffer = head === null ? piece : Buffer.concat([head, piece]);
    if (head !== null && ready.length < maxHeaderBytes) {
      head = ready;
      continue;
    }
    if (head !== null && !ready.subarray(0, maxHeaderBytes).includes('\n--- ')) return;
    head = null;
    for (let at = 0; at < ready.length; at += sliceBytes) yield ready.subarray(at, at + sliceBytes);
  }
  if (head !== null) yield head;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
