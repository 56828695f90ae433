import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { maxUnconfirmedRate } from '../../src/config/rates.ts';
import { check } from '../harness/property.ts';
import { configOf, faultsOf } from './load-text.ts';

const shippedMetadata = join(import.meta.dirname, '../../data/model-metadata.json');

/** A file whose one model has this price, by default per token; any amount is confirmed. */
function withPrice(price: string, exchange = '', confirm = true): string {
  const per = price.includes('per: ') ? '' : ', per: token';
  return `slots: [{ name: s, command: ["{port}"] }]
${exchange}
models: [{ id: a/b, context_length: 1, candidates: [{ slot: s }], price: { completion: 0, ${price}${per}, confirm: ${confirm} } }]`;
}

function promptRate(price: string, exchange = ''): bigint | undefined {
  return configOf(withPrice(price, exchange)).models[0]?.candidates[0]?.price.prompt;
}

test('a price is the decimal number in the file, to the last of its 12 decimals', () => {
  const rates: readonly [string, bigint][] = [
    ['prompt: 0.4, per: 1M', 400_000n],
    ['prompt: 0.1, per: 1M', 100_000n],
    ['prompt: 0.1', 100_000_000_000n],
    ['prompt: 1e-7', 100_000n],
    ['prompt: 1E-12', 1n],
    ['prompt: 0.4, per: 1K', 400_000_000n],
    ['prompt: "0.4", per: "1M"', 400_000n],
    ['prompt: .5', 500_000_000_000n],
    ['prompt: 3.', 3_000_000_000_000n],
    ['prompt: +2', 2_000_000_000_000n],
    ['prompt: 007', 7_000_000_000_000n],
    // A double would make 0.30000000000000004 and 9007199254740992 of these.
    ['prompt: 0.300000000001', 300_000_000_001n],
    ['prompt: 900719.925474099267', 900_719_925_474_099_267n],
    ['prompt: 1000000', 10n ** 18n],
    ['prompt: 0', 0n],
  ];
  for (const [text, rate] of rates) assert.equal(promptRate(text), rate, text);
});

// spec:money/2.7
test('a price states its unit, and is confirmed above ten times the dearest model that Naru lists', () => {
  const file = withPrice('prompt: 1, per: 1M').replace('per: 1M, ', '');
  assert.deepEqual(faultsOf(file), [
    'naru.yaml:3:74 models[0].price.per: is missing: state one of token, 1K, 1M',
  ]);
  const { models } = JSON.parse(readFileSync(shippedMetadata, 'utf8')) as {
    readonly models: readonly { readonly price?: Readonly<Record<string, unknown>> }[];
  };
  const rates = models.flatMap(({ price = {} }) => Object.values(price)).map(Number);
  const dearest = Math.max(...rates.filter(Number.isFinite));
  assert.equal(maxUnconfirmedRate, BigInt(dearest * 10 * 1_400) * 1_000_000n);
  const atMost = dearest * 10;
  const dollars = 'exchange: { usd_krw: 1400 }';
  const unusual: readonly [string, string][] = [
    ['prompt: 500', '500 won per token'],
    ['prompt: 1, per: 1M, cache_write: 2e6', '2 won per token'],
    ['prompt: 1, per: 1M, request: 1051', '1051 won per request'],
    [`prompt: ${atMost + 1}, currency: USD, per: 1M`, '1.0514 won per token'],
  ];
  for (const [price, shown] of unusual) {
    const [fault, ...more] = faultsOf(withPrice(price, dollars, false));
    assert.match(
      fault ?? '',
      new RegExp(`is ${shown}, more than ten times the dearest .* confirm: true beside`),
    );
    assert.deepEqual(more, []);
    assert.deepEqual(faultsOf(withPrice(price, dollars)), []);
  }
  const usual = [`prompt: ${atMost}, currency: USD, per: 1M`, 'prompt: 1.05', 'prompt: 1, request: 1050'];
  for (const price of usual) assert.deepEqual(faultsOf(withPrice(price, dollars, false)), [], price);
});

test('decimals beyond the 12th of a won are rounded half up, once', () => {
  assert.equal(promptRate('prompt: 0.0000000000005'), 1n);
  assert.equal(promptRate('prompt: 0.0000005, per: 1M'), 1n);
  // 1e-12 USD × 0.4 = 0.4 pico-won; rounding the price first, or the rate first, would make 0 or 1
  // of 1.5 pico-won.
  assert.equal(promptRate('prompt: 1e-12, currency: USD', 'exchange: { usd_krw: 1.5, confirm: true }'), 2n);
  assert.equal(promptRate('prompt: 4e-13, currency: USD', 'exchange: { usd_krw: 1.25, confirm: true }'), 1n);
});

test('a price that rounds to 0 is rejected unless it is written as 0', () => {
  for (const price of [
    'prompt: 0.00000000000049999999999999999999999',
    'prompt: 4e-13',
    'prompt: 0.0000004, per: 1M',
    'prompt: 0.0004e-3, per: 1M',
    'prompt: 1, cache_read: 1e-300',
    'prompt: 1, cache_write: 4e-13',
    'prompt: 1, request: 4e-13',
  ])
    assert.match(faultsOf(withPrice(price)).join(), /rounds to 0, .* write 0 for a free model/, price);
  const dollars = 'exchange: { usd_krw: 0.5, confirm: true }';
  assert.match(faultsOf(withPrice('prompt: 9e-13, currency: USD', dollars)).join(), /rounds to 0/);
  for (const price of ['prompt: 0', 'prompt: 0.000, per: 1M', 'prompt: 0e5', 'prompt: 5e-13'])
    assert.deepEqual(faultsOf(withPrice(price)), [], price);
});

// spec:operator/2.8
test('an exchange rate far from the usual one is confirmed', () => {
  for (const [usdKrw, isUsual] of [
    ['700', true],
    ['2100', true],
    ['699.99', false],
    ['2101', false],
    ['1.4', false],
    ['1e300', false],
  ] as const) {
    const text = (more = '') => `exchange: { usd_krw: ${usdKrw}${more} }`;
    const fault =
      'naru.yaml:1:22 exchange.usd_krw: is more than 50 % above or below 1400 won for one US dollar: correct it, or state confirm: true beside it';
    assert.deepEqual(faultsOf(text()), isUsual ? [] : [fault], usdKrw);
    assert.deepEqual(faultsOf(text(', confirm: true')), []);
  }
});

test('dollars become won exactly, margin included', () => {
  assert.equal(
    promptRate('prompt: 0.15, currency: USD, per: 1M', 'exchange: { usd_krw: 1400 }'),
    210_000_000n,
  );
  const exchange = 'exchange: { usd_krw: 1387.35, margin_percent: 2.5 }';
  // 3 × 1387.35 × 1.025 / 10^6 = 0.00426610125
  assert.equal(promptRate('prompt: 3, currency: USD, per: 1M', exchange), 4_266_101_250n);
  assert.deepEqual(configOf(exchange).exchange, { usdKrw: '1387.35', marginPercent: '2.5' });
});

test('a missing rate is that of prompts; a request is priced by itself, not per tokens', () => {
  const price = configOf(withPrice('prompt: 5, request: 7, cache_read: 1, per: 1K')).models[0]?.candidates[0]
    ?.price;
  const pico = 10n ** 9n;
  assert.deepEqual(price, {
    prompt: 5n * pico,
    completion: 0n,
    request: 7n * 10n ** 12n,
    cacheRead: pico,
    cacheWrite: 5n * pico,
  });
});

// spec:money/2.8, spec:money/2.9
test('rows of tiers, of long cache writes and of the upstream are checked as the price is', () => {
  const flex = (text: string): string => `prompt: 1, tiers: [{ tier: flex, completion: 1, ${text} }]`;
  const upstream = (text: string): string =>
    `prompt: 1, per: token, upstream_price: { prompt: 1, completion: 2, per: 1M, ${text} }`;
  const faults: readonly (readonly [price: string, fault: RegExp])[] = [
    [flex('prompt: 4e-13'), /tiers\[0\]\.prompt: rounds to 0/],
    [flex('prompt: 1e7'), /tiers\[0\]\.prompt: is above a million won/],
    [flex('prompt: -1'), /tiers\[0\]\.prompt: must be/],
    [flex('cache_read: 1'), /tiers\[0\]\.prompt: is missing/],
    ['prompt: 1, tiers: [{ tier: turbo, prompt: 1, completion: 1 }]', /tiers\[0\]\.tier: must be/],
    [
      `${flex('prompt: 1').slice(0, -1)}, { tier: flex, prompt: 2, completion: 1 }]`,
      /tiers\[1\]\.tier: is already stated/,
    ],
    [
      `cache_write_1h: 2, ${flex('prompt: 1')}`,
      /tiers\[0\]\.cache_write_1h: is missing, and the ordinary price has one/,
    ],
    [upstream('currency: CNY'), /upstream_price\.rate: is missing: state the won for one CNY/],
    [upstream('currency: USD'), /upstream_price\.rate: is missing: state the won for one USD/],
    [upstream('currency: cny, rate: 1'), /upstream_price\.currency: must be three capital letters/],
    [upstream('rate: 1'), /upstream_price\.rate: has no effect on a price in KRW/],
    [upstream('currency: CNY, rate: 0'), /upstream_price\.rate: must be a decimal number above 0/],
    [upstream('currency: CNY, rate: 1e13'), /upstream_price\.prompt: is above a million won/],
    [
      upstream('tiers: [{ tier: flex, prompt: 4e-10, completion: 1 }]'),
      /upstream_price\.tiers\[0\]\.prompt: rounds to 0/,
    ],
  ];
  for (const [price, fault] of faults) {
    const found = faultsOf(withPrice(price)).join();
    assert.match(found, fault, `${price}: ${found}`);
  }
  const unconfirmed = faultsOf(withPrice(flex('prompt: 500'), '', false)).join();
  assert.match(unconfirmed, /tiers\[0\]\.prompt: is 500 won per token, more than ten times/);
  const dollars = 'exchange: { usd_krw: 1400, margin_percent: 10 }';
  const right = upstream('currency: USD, tiers: [{ tier: flex, prompt: 0.5, completion: 1 }]');
  const [built] = configOf(withPrice(right, dollars)).models[0]?.candidates ?? [];
  assert.deepEqual(built?.stated.upstream, {
    currency: 'USD',
    rate: '1400',
    per: '1M',
    amounts: { prompt: '1', completion: '2', request: '0' },
    tiers: { flex: { prompt: '0.5', completion: '1' } },
  });
});

test('an invalid price is a fault', () => {
  const no = [
    '-1',
    '-0.0',
    '-1e-400',
    '.inf',
    '.nan',
    'Infinity',
    'NaN',
    '0x10',
    '1_000',
    '"1,5"',
    '1e',
    '"1 2"',
    'free',
    '1e500',
    '1e-500',
    '0e999',
  ];
  for (const text of [...no, '1e1000', '[1]', '{ a: 1 }', '""']) {
    const faults = faultsOf(withPrice(`prompt: ${text}`)).filter((fault) =>
      fault.includes('price.prompt: must be'),
    );
    assert.equal(faults.length, 1, text);
  }
  assert.match(
    faultsOf(withPrice('prompt: 1000000.1')).join(),
    /price\.prompt: is above a million won per unit/,
  );
  assert.match(faultsOf(withPrice('prompt: 1e300')).join(), /price\.prompt: is above a million won per unit/);
  assert.match(faultsOf(withPrice('request: 0')).join(), /3:74 models\[0]\.price\.prompt: is missing/);
});

test('dollars without a rate are a fault', () => {
  assert.deepEqual(faultsOf(withPrice('prompt: 1, currency: USD')), [
    'naru.yaml:3:112 models[0].price.currency: is USD, but the file states no exchange: { usd_krw: … }',
  ]);
  assert.deepEqual(faultsOf(withPrice('prompt: 1, currency: USD', 'exchange: {}')), [
    'naru.yaml:2:11 exchange.usd_krw: is missing',
  ]);
  assert.deepEqual(faultsOf(withPrice('prompt: 1, currency: USD', 'exchange: { usd_krw: 0.0 }')), [
    'naru.yaml:2:22 exchange.usd_krw: must be a decimal number above 0, not "0.0"',
  ]);
});

test('amounts in won are exact too', () => {
  assert.equal(configOf('limits: { debt_floor_krw: 0.1 }').limits.debtFloorKrw, 100_000n);
  assert.equal(
    configOf('limits: { debt_floor_krw: 999999999999999.999999 }').limits.debtFloorKrw,
    10n ** 21n - 1n,
  );
  assert.equal(faultsOf('limits: { debt_floor_krw: -1 }').length, 1);
  assert.equal(faultsOf('limits: { debt_floor_krw: 1e16 }').length, 1);
  for (const text of ['0.0000015', '1.5e-6', '15e-7', '1e-7'])
    assert.equal(faultsOf(`limits: { debt_floor_krw: ${text} }`).length, 1, text);
  assert.equal(configOf('limits: { debt_floor_krw: 15e-6 }').limits.debtFloorKrw, 15n);
});

test('every spelling of a number is a price or a fault', () => {
  const spellings = fc.stringMatching(/^[+-]?[0-9]{0,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?$/);
  check(
    fc.property(spellings, fc.constantFrom('KRW', 'USD'), spellings, (text, currency, usdKrw) => {
      const load = withPrice(
        `prompt: "${text}", currency: ${currency}`,
        `exchange: { usd_krw: "${usdKrw}" }`,
      );
      for (const fault of faultsOf(load)) assert.match(fault, /price\.prompt|exchange\.usd_krw/);
    }),
  );
});

/** A decimal number as the file may spell it, and as a fraction. */
const decimals = fc
  .record({
    whole: fc.bigInt({ min: 0n, max: 999n }),
    fraction: fc.stringMatching(/^[0-9]{0,20}$/),
    exponent: fc.option(fc.integer({ min: -15, max: 2 }), { nil: undefined }),
    quote: fc.boolean(),
  })
  .map(({ whole, fraction, exponent, quote }) => {
    const text = `${whole}${fraction === '' ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`;
    // Over 10^40, so that every spelling here is a whole number of it.
    const over = whole * 10n ** 40n + BigInt(fraction || '0') * 10n ** BigInt(40 - fraction.length);
    const power = exponent ?? 0;
    return {
      text: quote ? `'${text}'` : text,
      over: power >= 0 ? over * 10n ** BigInt(power) : over / 10n ** BigInt(-power),
    };
  });

test('every price equals the rate computed with fractions', () => {
  const one = 10n ** 40n;
  const pers = fc.constantFrom(['token', 1n] as const, ['1K', 1000n] as const, ['1M', 1_000_000n] as const);
  const rates = fc.constantFrom('1400', '1387.35', '0.001', '1', '1e1', '1234.567890123456');
  const margins = fc.constantFrom('0', '2.5', '0.001', '33.3333333');
  check(
    fc.property(decimals, pers, fc.boolean(), rates, margins, (price, [per, tokens], inUsd, rate, margin) => {
      const fixed = (text: string): bigint => {
        if (text === '1e1') return 10n * one;
        const [whole = '0', fraction = ''] = text.split('.');
        return BigInt(whole + fraction.padEnd(40, '0'));
      };
      const numerator = price.over * (inUsd ? fixed(rate) * (100n * one + fixed(margin)) : 1n) * 10n ** 12n;
      const denominator = one * tokens * (inUsd ? one * 100n * one : 1n);
      const [floor, rest] = [numerator / denominator, numerator % denominator];
      const expected = rest * 2n >= denominator ? floor + 1n : floor;
      const text = `prompt: ${price.text}, per: ${per}, currency: ${inUsd ? 'USD' : 'KRW'}`;
      const exchange = `exchange: { usd_krw: ${rate}, margin_percent: ${margin}, confirm: true }`;
      if (expected > 10n ** 18n) assert.match(faultsOf(withPrice(text, exchange)).join(), /million won/);
      else if (expected === 0n && numerator > 0n)
        assert.match(faultsOf(withPrice(text, exchange)).join(), /rounds to 0/);
      else assert.equal(promptRate(text, exchange), expected, `${text} ${exchange}`);
    }),
    { numRuns: 400 },
  );
});
