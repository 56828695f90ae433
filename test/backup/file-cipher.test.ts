/** The encrypted files of a backup: what was changed, cut or exchanged is found. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { BackupKey, decrypt, encrypt } from '../../src/backup/file-cipher.ts';
import { keyBytesOf } from '../../src/config/backup-key.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { byTier } from '../harness/tier.ts';

const hex = '0f'.repeat(32);
const key = new BackupKey(hex);
const chunk = 65_536;
const head = 40;
const sealedChunk = chunk + 16;

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(bytes));
}

const seal = (plain: Buffer, subject = 'a'): Promise<Buffer> =>
  joined(encrypt(pieces(plain, 10_000), key, subject));
const open = (sealed: Buffer, subject = 'a', by = key, size = 7_001): Promise<Buffer> =>
  joined(decrypt(pieces(sealed, size), by, { subject, name: 'x.enc' }));

const isDamaged = (error: unknown): boolean =>
  error instanceof OperatorError && /^x\.enc cannot be decrypted/.test(error.message);

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

test('another key and the file of another table are refused', async () => {
  const sealed = await seal(randomBytes(100));
  await assert.rejects(open(sealed, 'b'), isDamaged);
  await assert.rejects(open(sealed, 'a', new BackupKey('0e'.repeat(32))), isDamaged);
});

test('a key is 32 bytes, in hex or base64', () => {
  assert.equal(keyBytesOf(hex)?.length, 32);
  assert.deepEqual(keyBytesOf(Buffer.from(hex, 'hex').toString('base64')), keyBytesOf(hex));
  for (const wrong of ['', 'x', hex.slice(2), `${hex}00`, `${hex.slice(1)}g`, 'A'.repeat(44)])
    assert.equal(keyBytesOf(wrong), null, wrong);
  assert.throws(() => new BackupKey('x'), /64 hex digits or as base64/);
  assert.equal(new BackupKey(hex).id, key.id);
  assert.notEqual(new BackupKey('0e'.repeat(32)).id, key.id);
});
