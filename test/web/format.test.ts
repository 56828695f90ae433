import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { krwOfMicro, krwToDecimal } from '../../src/money/krw.ts';
import { shortenId } from '../../web/src/format/id.ts';
import {
  decimalWon,
  formatCountAxis,
  formatMoney,
  formatMoneyAxis,
  parseMicro,
  parseWon,
  shareOf,
} from '../../web/src/format/money.ts';
import {
  formatBytes,
  formatCount,
  formatCountCompact,
  formatPercent,
  formatRate,
} from '../../web/src/format/number.ts';
import { formatPico } from '../../web/src/format/pico.ts';
import {
  formatDuration,
  formatDurationAxis,
  formatMonth,
  formatRelative,
  formatTime,
  seoulDay,
  seoulMonthStart,
  seoulMonths,
  startOfDay,
} from '../../web/src/format/time.ts';
import { check } from '../harness/property.ts';

const amount = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });

test('money is written as won, exact to the micro-won', () => {
  assert.equal(formatMoney('1234567890123', 'ko'), '1,234,567.890123원');
  assert.equal(formatMoney('1234568000000', 'ko'), '1,234,568원');
  assert.equal(formatMoney('1234568000000', 'en'), '₩1,234,568');
  assert.equal(formatMoney('-500000', 'en'), '-₩0.5');
  assert.equal(formatMoney('1', 'ko'), '0.000001원');
  assert.equal(formatMoney('0', 'ko', { signed: true }), '0원');
  assert.equal(formatMoney('2500000', 'ko', { signed: true, maxDecimals: 0 }), '+3원');
  assert.equal(formatMoney('-400000', 'ko', { maxDecimals: 0 }), '0원');
});

test('a written amount parses back to the same micro-won, in both languages', () => {
  check(
    fc.property(amount, fc.constantFrom('ko' as const, 'en' as const), (micro, language) => {
      assert.equal(parseWon(formatMoney(micro, language)), micro);
      assert.equal(parseWon(decimalWon(micro)), micro);
      assert.equal(parseMicro(String(micro)), micro);
    }),
  );
});

test('the decimals of an amount are those of the ledger', () => {
  check(
    fc.property(amount, (micro) => {
      const ledger = krwToDecimal(krwOfMicro(micro)).replace(/\.?0+$/, '');
      assert.equal(decimalWon(micro), ledger === '-0' ? '0' : ledger);
    }),
  );
});

test('a rounded amount is within half of its last decimal', () => {
  check(
    fc.property(amount, fc.integer({ min: 0, max: 6 }), (micro, maxDecimals) => {
      const shown = parseWon(formatMoney(micro, 'en', { maxDecimals }));
      assert.ok(shown !== null);
      const distance = shown > micro ? shown - micro : micro - shown;
      assert.ok(distance * 2n <= 10n ** BigInt(6 - maxDecimals));
    }),
  );
});

test('what is not an amount is rejected', () => {
  for (const text of ['', '1.5', 'abc', '1e3', ' 1']) assert.throws(() => parseMicro(text), /micro-won/);
  for (const text of ['', 'abc', '1.1234567', '1,23', '--1', '1.', '１']) assert.equal(parseWon(text), null);
  assert.equal(parseWon(' 5,000원 '), 5_000_000_000n);
  assert.equal(parseWon('₩0.5'), 500_000n);
});

test('the labels of an axis have one unit', () => {
  const man = 10_000 * 1e6;
  assert.deepEqual(
    [0, 2.5, 5, 7.5, 10].map((value) => formatMoneyAxis(value * man, 10 * man, 'ko')),
    ['0원', '2.5만원', '5만원', '7.5만원', '10만원'],
  );
  assert.equal(formatMoneyAxis(man / 2, 2 * man, 'ko'), '5,000원');
  assert.deepEqual(
    [0, 5_000, 20_000].map((won) => formatMoneyAxis(won * 1e6, 20_000 * 1e6, 'en')),
    ['₩0', '₩5K', '₩20K'],
  );
  assert.equal(formatMoneyAxis(2_500 * 1e6, 5_000 * 1e6, 'en'), '₩2,500');
  assert.equal(formatMoneyAxis(0.25 * 1e6, 1e6, 'ko'), '0.25원');
  assert.equal(formatCountAxis(2_500_000, 5_000_000, 'en'), '2.5M');
  assert.equal(formatCountAxis(2_500_000, 5_000_000, 'ko'), '250만');
  assert.equal(formatCountAxis(15e15, 20e15, 'ko'), '1.5경');
  assert.equal(formatCountAxis(15e15, 20e15, 'en'), '15Q');
  assert.equal(formatDurationAxis(500, 2000, 'ko'), '0.5초');
  assert.equal(formatDurationAxis(250, 800, 'en'), '250 ms');
});

test('counts in tight places are compact', () => {
  assert.equal(formatCountCompact(1_234_567, 'en'), '1.23M');
  assert.equal(formatCountCompact(9_999, 'ko'), '9,999');
  assert.equal(formatCountCompact(-120_000, 'ko'), '-12만');
});

test('a share is between 0 and 1', () => {
  check(
    fc.property(amount, amount, (part, whole) => {
      const share = shareOf(part, whole);
      assert.ok(share >= 0 && share <= 1);
    }),
  );
  assert.equal(shareOf('25', '100'), 0.25);
});

test('time is the civil time of Seoul, as ICU computes it', () => {
  const icu = new Intl.DateTimeFormat('sv-SE', {
    timeZone: 'Asia/Seoul',
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  const from = Date.UTC(1990, 0, 1);
  check(
    fc.property(fc.integer({ min: from, max: Date.UTC(2100, 0, 1) }), (ms) => {
      assert.equal(formatTime(ms, 'ko', 'second'), icu.format(ms));
      const start = startOfDay(seoulDay(ms));
      assert.ok(start !== null && start <= ms && ms - start < 86_400_000);
      assert.equal(seoulMonthStart(ms).slice(0, 7), seoulDay(ms).slice(0, 7));
    }),
  );
  assert.equal(formatTime('2026-11-22T15:30:00Z', 'ko', 'day'), '11월 23일 (월)');
  assert.equal(formatTime('2026-11-22T15:30:00Z', 'en', 'day'), 'Nov 23 (Mon)');
  assert.equal(startOfDay('2026-02-30'), null);
  assert.equal(formatMonth('2026-10-31T15:00:00Z', 'ko'), '2026년 11월');
  assert.equal(formatMonth('2026-10-31T14:59:59Z', 'en'), 'Oct 2026');
  assert.deepEqual(seoulMonths('2025-11-30T15:00:00Z', '2026-02-01T00:00:00Z'), [
    '2026-02',
    '2026-01',
    '2025-12',
  ]);
  assert.deepEqual(seoulMonths('2026-02-01', '2026-02-01'), ['2026-02']);
});

test('durations and distances have the two largest units at most', () => {
  assert.equal(formatDuration(0.42, 'ko'), '0.42ms');
  assert.equal(formatDuration(850.4, 'en'), '850 ms');
  assert.equal(formatDuration(1254, 'ko'), '1.25초');
  assert.equal(formatDuration(59_999, 'en'), '1 min');
  assert.equal(formatDuration(125_000, 'ko'), '2분 5초');
  assert.equal(formatDuration(90_061_000, 'en'), '1 d 1 h');
  assert.equal(formatRelative(0, 30_000, 'ko'), '30초 전');
  assert.equal(formatRelative(90_000, 0, 'en'), 'in 1 min');
  assert.equal(formatRelative(0, 2 * 86_400_000, 'en'), '2 days ago');
  assert.equal(formatRelative(0, 1_000, 'ko'), '방금');
  check(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
      assert.match(formatDuration(ms, 'en'), /^[\d.]+ (?:ms|s|min|h|d)(?: \d+ (?:h|min|s))?$/);
    }),
  );
});

test('counts, rates, percentages and sizes', () => {
  assert.equal(formatCount(1_234_567), '1,234,567');
  assert.equal(formatCount(-12_345n), '-12,345');
  assert.equal(formatPercent(0.1234), '12.3%');
  assert.equal(formatPercent(0.0004), '0.04%');
  assert.equal(formatPercent(1), '100%');
  assert.equal(formatRate(42.55), '42.5');
  assert.equal(formatBytes(1_500_000), '1.5 MB');
  assert.equal(formatBytes(999), '999 B');
});

test('a long id keeps its ends and fits', () => {
  check(
    fc.property(
      fc.string({ minLength: 1, maxLength: 80 }),
      fc.integer({ min: 5, max: 40 }),
      (id, maxChars) => {
        const short = shortenId(id, maxChars);
        assert.ok(short.length <= maxChars);
        assert.ok(id.startsWith(short.split('…')[0] ?? '') || id.includes('…'));
      },
    ),
  );
  assert.equal(shortenId('gen-1764000000-abcdefghij', 13), 'gen-1764…ghij');
});

test('pico-won are written with all their decimals', () => {
  assert.equal(formatPico('400000000', 'ko'), '0.0004원');
  assert.equal(formatPico('1234567000000000001', 'en'), '₩1,234,567.000000000001');
  assert.equal(formatPico('0', 'ko'), '0원');
  assert.throws(() => formatPico('1.5', 'ko'), /pico-won/);
});
