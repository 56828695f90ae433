/** The encrypted files of a backup: what was changed, cut or exchanged is found. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, test } from 'node:test';
import { BackupKey, decrypt, encrypt } from '../../src/backup/file-cipher.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { backupKey, otherBackupKey } from '../harness/backup-keys.ts';
import { byTier } from '../harness/tier.ts';

let key: BackupKey;
let other: BackupKey;
const chunk = 65_536;
/** The header of age for one recipient, and the nonce of the file. */
const head = 184;
const sealedChunk = chunk + 16;

before(async () => {
  key = await BackupKey.of(backupKey);
  other = await BackupKey.of(otherBackupKey);
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(bytes));
}

const seal = (plain: Buffer): Promise<Buffer> => joined(encrypt(pieces(plain, 10_000), key));
const open = (sealed: Buffer, by = key): Promise<Buffer> =>
  joined(decrypt(pieces(sealed, 7_001), by, 'x.age'));

const isDamaged = (error: unknown): boolean =>
  error instanceof OperatorError && /^x\.age cannot be decrypted/.test(error.message);

test('a file of any length is the same after encryption and decryption', async () => {
  for (const length of [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk]) {
    const plain = randomBytes(length);
    const sealed = await seal(plain);
    assert.ok((await open(sealed)).equals(plain), `${length} bytes`);
    assert.equal(sealed.length, head + length + 16 * Math.max(1, Math.ceil(length / chunk)));
  }
});

test('the same file is encrypted differently each time, and its plaintext is not in it', async () => {
  const plain = Buffer.alloc(1_000, 'secret ');
  const [one, other] = [await seal(plain), await seal(plain)];
  assert.ok(!one.equals(other));
  assert.ok(!one.includes('secret'));
});

test('one flipped bit anywhere is found', async () => {
  const sealed = await seal(randomBytes(chunk + 300));
  const step = byTier(997, 31);
  for (let at = 0; at < sealed.length; at += at < head ? 1 : step) {
    const changed = Buffer.from(sealed);
    changed[at] = (sealed[at] ?? 0) ^ (1 << (at % 8));
    await assert.rejects(open(changed), isDamaged, `byte ${at}`);
  }
});

test('a file that is cut at any place is found, at the end of a chunk too', async () => {
  const sealed = await seal(randomBytes(2 * chunk));
  for (const length of [0, 5, head, head + 1, head + sealedChunk - 1, head + sealedChunk, sealed.length - 1])
    await assert.rejects(open(sealed.subarray(0, length)), isDamaged, `${length} bytes`);
});

test('chunks that change places, are repeated or added are found', async () => {
  const sealed = await seal(randomBytes(3 * chunk));
  const parts = [0, 1, 2].map((n) =>
    sealed.subarray(head + n * sealedChunk, head + (n + 1) * sealedChunk),
  ) as [Buffer, Buffer, Buffer];
  const start = sealed.subarray(0, head);
  const [a, b, c] = parts;
  for (const order of [
    [b, a, c],
    [a, a, b, c],
    [a, c],
    [a, b, c, c],
    [a, b, c, Buffer.from('x')],
  ])
    await assert.rejects(open(Buffer.concat([start, ...order])), isDamaged);
});

test('a file of another key is rejected', async () => {
  await assert.rejects(open(await seal(randomBytes(100)), other), isDamaged);
});

test('a file that age encrypted is decrypted', async () => {
  const sealed = `
    YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBKbHJ4dkhVZGdJQS9UL2tEbTlqa0xhOGFrVWlHK2dSQlBM
    S3RrYS9RdEFrCkFFMWczalhqVTJSaFRaQVNjZVFxS3BSTjFNYklLTGtoWC9SOFBDSGxJZ2cKLS0tIGdPZDlxT2hW
    QTdBU3Q4TzJINnZOQTB1VDRNRlVUQU1MZllOZkpJaVlLdjgK790fSDvnBk84yhl//dnSr8/bhJHluQGOmrtQLOSx
    BnIB1w/LRVYhiQ1Te2z+0g==`;
  assert.equal((await open(Buffer.from(sealed, 'base64'))).toString(), 'written by age');
});

test('a header without an end is rejected before it is gathered', async () => {
  let read = 0;
  const endless = (async function* () {
    for (;;) {
      read += chunk;
      yield Buffer.concat([Buffer.from('age-encryption.org/v1\n'), Buffer.alloc(chunk, 'a')]);
    }
  })();
  await assert.rejects(joined(decrypt(endless, key, 'x.age')), isDamaged);
  assert.ok(read <= 2 * chunk, `${read} bytes`);
});

test('an error of the store is reported as it is', async () => {
  const lost = new Error('the connection was lost');
  const broken = async function* (bytes: Buffer): AsyncGenerator<Buffer> {
    yield bytes;
    throw lost;
  };
  const sealed = await seal(randomBytes(3 * chunk));
  const isLost = (error: unknown): boolean => error === lost;
  for (const length of [0, 10, head, 2 * chunk])
    await assert.rejects(joined(decrypt(broken(sealed.subarray(0, length)), key, 'x.age')), isLost);
  await assert.rejects(joined(encrypt(broken(sealed), key)), isLost);
});

test('a key is an age identity; a mistyped one is rejected without being quoted', async () => {
  const wrong = ['', 'x', backupKey.slice(1), `${backupKey}A`, backupKey.toLowerCase(), 'ab'.repeat(32)];
  for (const text of wrong) await assert.rejects(BackupKey.of(text), /must be an age identity/);
  const mistyped = `${backupKey.slice(0, -1)}Q`;
  await assert.rejects(
    BackupKey.of(mistyped),
    (error: unknown) =>
      error instanceof OperatorError &&
      error.message.includes('its checksum is wrong') &&
      !error.message.includes(mistyped.slice(20)),
  );
});
