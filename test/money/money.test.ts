import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bigInt, constantFrom, double, integer, option, property, record, tuple } from 'fast-check';
import {
  decimalToScaled,
  divideHalfUp,
  isFinerThanMicroWon,
  type Krw,
  krwFromDecimal,
  krwFromNumber,
  krwToDecimal,
  krwToNumber,
  krwToText,
  maxKrw,
} from '../../src/money/krw.ts';
import {
  billedTierOf,
  costLines,
  costOf,
  highestRates,
  type Price,
  priceIn,
  promptCostOf,
  rateOfPico,
  rateToDecimal,
  type TokenRates,
} from '../../src/money/price.ts';
import { check } from '../harness/property.ts';

const amounts = bigInt({ min: -maxKrw, max: maxKrw }).map((micro) => micro as Krw);

test('an amount with six decimals reads back as itself', () => {
  check(property(amounts, (amount) => krwFromDecimal(krwToDecimal(amount)) === amount));
  check(property(amounts, (amount) => /^-?\d+\.\d{6}$/.test(krwToDecimal(amount))));
  assert.equal(krwToDecimal(-1n as Krw), '-0.000001');
  assert.deepEqual(
    [1_234_567_500_000n, -1n, 0n, 999_000_000n].map((micro) => krwToText(micro as Krw)),
    ['1,234,567.5', '-0.000001', '0', '999'],
  );
  assert.equal(krwToDecimal(0n as Krw), '0.000000');
});

test('the JSON number of an amount is the double nearest to it, and prints its decimals below 2^33 won', () => {
  check(property(amounts, (amount) => krwToNumber(amount) === Number(krwToDecimal(amount))));
  const everyday = bigInt({ min: -(2n ** 33n) * 1_000_000n, max: 2n ** 33n * 1_000_000n }).map(
    (micro) => micro as Krw,
  );
  check(property(everyday, (amount) => krwFromNumber(krwToNumber(amount)) === amount));
});

// spec:conformance/148 spec:money/7.3
test('a text that is not a finite amount within bounds is rejected', () => {
  for (const bad of [
    '',
    '.',
    '-',
    '1,000',
    '0x10',
    'NaN',
    'Infinity',
    '1e400',
    '-1e400',
    '1e999',
    ' 1',
    '1 ',
    '1e',
    '١',
    '1000000000000000.000001',
  ])
    assert.equal(krwFromDecimal(bad), null, bad);
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1.1e15]) assert.equal(krwFromNumber(bad), null);
  assert.equal(krwFromDecimal('1e15'), maxKrw);
  assert.equal(krwFromNumber(1e15), maxKrw);
});

// spec:money/1.5
test('more than six decimals are rounded half away from zero', () => {
  for (const [text, micro] of [
    ['0.0000005', 1n],
    ['0.00000049999', 0n],
    ['-0.0000005', -1n],
    ['1.2345675', 1_234_568n],
    ['5e-7', 1n],
    ['.5', 500_000n],
    ['5.', 5_000_000n],
    ['+1', 1_000_000n],
    ['1e3', 1_000_000_000n],
  ] as const)
    assert.equal(krwFromDecimal(text), micro, text);
});

test('an amount finer than a micro-won is the same amount however it is written', () => {
  for (const text of ['0.0000015', '1.5e-6', '15e-7', '-1.5E-6', '.0000001', '1e-400', '10.00000010'])
    assert.ok(isFinerThanMicroWon(text), text);
  for (const text of ['0.000001', '1e-6', '1.5e-5', '1.0000000', '10e-7', '0e-400', '1e15', '-5', '0'])
    assert.ok(!isFinerThanMicroWon(text), text);
  check(
    property(
      tuple(bigInt({ min: 0n, max: 10n ** 20n }), integer({ min: 0, max: 20 })),
      ([digits, places]) => {
        const padded = String(digits).padStart(places + 1, '0');
        const at = padded.length - places;
        const plain = places === 0 ? padded : `${padded.slice(0, at)}.${padded.slice(at)}`;
        assert.equal(isFinerThanMicroWon(`${digits}e-${places}`), isFinerThanMicroWon(plain));
        const exact = decimalToScaled(plain, 30) ?? 0n;
        assert.equal(isFinerThanMicroWon(plain), exact % 10n ** 24n !== 0n);
      },
    ),
  );
});

test('decimal text scales exactly as its digits do', () => {
  check(
    property(tuple(integer({ min: 0, max: 10 ** 9 }), integer({ min: 0, max: 12 })), ([digits, places]) => {
      const text = `${digits}e-${places}`;
      assert.equal(decimalToScaled(text, 12), BigInt(digits) * 10n ** BigInt(12 - places));
    }),
  );
  check(
    property(
      double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }),
      (value) => Math.abs(Number(decimalToScaled(String(value), 6)) - value * 1e6) <= 0.5 + value * 1e-9,
    ),
  );
});

test('a quotient is rounded half up', () => {
  check(
    property(
      bigInt({ min: 0n, max: 10n ** 30n }),
      bigInt({ min: 1n, max: 10n ** 15n }),
      (dividend, divisor) => {
        const quotient = divideHalfUp(dividend, divisor);
        const error2 = 2n * (quotient * divisor - dividend);
        assert.ok(error2 > -divisor && error2 <= divisor);
      },
    ),
  );
});

const rates = bigInt({ min: 0n, max: 10n ** 15n }).map(rateOfPico);
const tokenRates = tuple(rates, rates, rates, rates, option(rates, { nil: undefined })).map(
  ([prompt, completion, cacheRead, cacheWrite, cacheWrite1h]): TokenRates => ({
    ...{ prompt, completion, cacheRead, cacheWrite },
    ...(cacheWrite1h !== undefined && { cacheWrite1h }),
  }),
);
const prices = record({ ordinary: tokenRates, request: rates, priority: tokenRates, flex: tokenRates }).map(
  ({ ordinary, request, ...tiers }): Price => ({ ...ordinary, request, tiers }),
);
const units = tuple(
  integer({ min: 0, max: 10 ** 7 }),
  integer({ min: 0, max: 10 ** 7 }),
  integer({ min: 0, max: 10 ** 7 }),
  integer({ min: 0, max: 10 ** 7 }),
  integer({ min: 0, max: 10 ** 7 }),
).map(([plain, completionTokens, cacheReadTokens, shortTokens, cacheWrite1hTokens]) => ({
  promptTokens: plain + cacheReadTokens + shortTokens + cacheWrite1hTokens,
  completionTokens,
  cacheReadTokens,
  cacheWriteTokens: shortTokens + cacheWrite1hTokens,
  cacheWrite1hTokens,
}));

// spec:money/1.4
test('a cost is the exact sum, rounded once', () => {
  check(
    property(prices, units, (price, used) => {
      const plain = used.promptTokens - used.cacheReadTokens - used.cacheWriteTokens;
      const pico =
        price.request +
        BigInt(plain) * price.prompt +
        BigInt(used.cacheReadTokens) * price.cacheRead +
        BigInt(used.cacheWriteTokens - used.cacheWrite1hTokens) * price.cacheWrite +
        BigInt(used.cacheWrite1hTokens) * (price.cacheWrite1h ?? price.cacheWrite) +
        BigInt(used.completionTokens) * price.completion;
      assert.equal(costOf(price, used), (pico + 500_000n) / 1_000_000n);
      assert.ok(promptCostOf(price, used) <= costOf(price, used));
    }),
  );
});

// spec:money/2.8, spec:money/4.15
test('in every tier the classes add up to the total, and no tier costs more than the highest rates', () => {
  check(
    property(
      prices,
      units,
      constantFrom('priority', 'Flex', 'default', 'scale', '__proto__', null),
      (price, used, reported) => {
        const tier = billedTierOf(price, reported);
        const billed = priceIn(price, tier);
        const lines = costLines(billed, used);
        const tokens = lines
          .filter(({ item }) => item !== 'request')
          .reduce((sum, { units: n }) => sum + n, 0);
        assert.equal(tokens, used.promptTokens + used.completionTokens);
        const pico = lines.reduce((sum, { units: n, rate }) => sum + BigInt(n) * rate, 0n);
        assert.equal(costOf(billed, used), divideHalfUp(pico, 1_000_000n));
        const highest = highestRates(price);
        assert.ok(lines.every(({ item, rate }) => rate <= highest[item]));
      },
    ),
  );
  assert.deepEqual(
    ['PRIORITY', 'priority', 'default', 'standard', null, 'scale', '__proto__'].map((name) =>
      billedTierOf(arbitraryPrice, name),
    ),
    ['priority', 'priority', undefined, undefined, undefined, null, null],
  );
});

const one = rateOfPico(1n);
const oneEach: TokenRates = { prompt: one, completion: one, cacheRead: one, cacheWrite: one };
const arbitraryPrice: Price = { ...oneEach, request: one, tiers: { priority: oneEach } };

test('a rate is printed exactly, without trailing zeros', () => {
  check(
    property(
      rates,
      (rate) => decimalToScaled(rateToDecimal(rate), 12) === rate && !/\.\d*0$|\.$/.test(rateToDecimal(rate)),
    ),
  );
  assert.equal(rateToDecimal(rateOfPico(0n)), '0');
  assert.equal(rateToDecimal(rateOfPico(400_000n)), '0.0000004');
});
