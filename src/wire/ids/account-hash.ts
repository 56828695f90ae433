const seed = (0x9e3779b9 + 4 + 3_923_095) | 0;

/** PostgreSQL's `hashint8`, by which an engine distributes accounts. */
export function hashOfAccount(accountId: number): number {
  const value = BigInt(accountId);
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  return hashOfUint32(low ^ (value >= 0n ? high : ~high));
}

/** PostgreSQL's `hash_uint32` (Bob Jenkins' final mix), as a signed number. */
function hashOfUint32(key: number): number {
  let [a, b, c] = [(seed + key) | 0, seed, seed];
  c = ((c ^ b) - rotated(b, 14)) | 0;
  a = ((a ^ c) - rotated(c, 11)) | 0;
  b = ((b ^ a) - rotated(a, 25)) | 0;
  c = ((c ^ b) - rotated(b, 16)) | 0;
  a = ((a ^ c) - rotated(c, 4)) | 0;
  b = ((b ^ a) - rotated(a, 14)) | 0;
  return ((c ^ b) - rotated(b, 24)) | 0;
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** The bits of the hash that a generation's identity contains. */
const leadBits = 12;

/**
 * What leads from a generation to the accounts that may have it: the upper 12 bits of the hash, so
 * that accounts with one lead are stored together.
 */
export function leadOfAccount(accountId: number): number {
  return hashOfAccount(accountId) >>> (32 - leadBits);
}
