import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { qrCode } from '../../web/src/ui/qr.ts';

const address =
  'otpauth://totp/Naru:everything%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Naru&algorithm=SHA1&digits=6&period=30';

/** Texts with their version and the hash of the code that another encoder makes (qrcode 8 for Python). */
const codes: readonly (readonly [text: string, version: number, hash: string])[] = [
  ['나루', 1, 'f2cd71d1fa8ea357'],
  [address, 8, 'd0c30d7be33fe3e5'],
  ['x'.repeat(213), 10, 'f8a692e420006d88'],
  ['A', 1, '2bae48594b732587'],
  ['a1'.repeat(10), 2, '3922f39d0aa228fb'],
  ['a1'.repeat(20), 3, 'd45fe03dfbfac8f9'],
  ['a1'.repeat(30), 4, 'b45df5e3e44c1011'],
  ['a1'.repeat(40), 5, '56669f3ddda405b1'],
  ['a1'.repeat(50), 6, '4079a4b4f96e8d88'],
  ['a1'.repeat(60), 7, '305336154d700c43'],
  ['a1'.repeat(75), 8, 'a9e65e3e654ad67c'],
  ['a1'.repeat(85), 9, '5b2246e4543827e8'],
  ['a1'.repeat(100), 10, 'd87354b8576d3f1e'],
];

test('a code is the one that another encoder makes, module by module', () => {
  for (const [text, version, hash] of codes) {
    const rows = qrCode(text) ?? assert.fail('no code');
    assert.equal(rows.length, 17 + 4 * version);
    const drawn = rows.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join('')).join('\n');
    assert.equal(createHash('sha256').update(drawn).digest('hex').slice(0, 16), hash, text);
  }
});

test('a text that does not fit has no code', () => {
  assert.ok(qrCode('x'.repeat(213)) !== null);
  assert.equal(qrCode('x'.repeat(214)), null);
});
