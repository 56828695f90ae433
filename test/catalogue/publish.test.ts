import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { isLargeChange } from '../../src/catalogue/difference.ts';
import { differenceTo, publishPrices, readHistory, readPublished } from '../../src/catalogue/publish.ts';
import type { Config } from '../../src/config/config.ts';
import { plainDecimal, rateOf, unitsOf } from '../../src/config/rates.ts';
import type { StatedPrice } from '../../src/config/schema-prices.ts';
import { Database } from '../../src/store/database.ts';
import { configOf } from '../config/load-text.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { checkAsync } from '../harness/property.ts';

/* Price versions: what creates one, what it stores, and that none ever changes. */

let testDatabase: TestDatabase;
let database: Database;
let atMs = Date.UTC(2026, 0, 1);

before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address);
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

/** A catalogue of one model, which each test names for itself. */
function offering(id: string, price: string, exchange = 'usd_krw: 1400'): Config {
  return configOf(`exchange: { ${exchange}, confirm: true }
providers: [{ slug: p, dialect: openai, base_url: "http://h" }]
models: [{ id: ${id}, context_length: 9, price: { ${price}${price.includes('per: ') ? '' : ', per: token'}, confirm: true }, candidates: [{ provider: p, model: m }] }]`);
}

async function publish(config: Config, at = database): Promise<number> {
  atMs += 1000;
  await publishPrices(at, config, { atMs, announce: 'edition' });
  const model = config.models[0]?.id;
  return (await readPublished(at)).find((version) => version.model === model)?.id ?? 0;
}

async function historyOf(model: string) {
  const found = await readHistory(database, model);
  return 'versions' in found ? found.versions : [];
}

// spec:money/2.4
test('a price in dollars is published with its stated amount, the rate and the margin', async () => {
  const price = 'prompt: 0.150, completion: 6e-1, cache_read: 0.075, currency: USD, per: 1M';
  await publish(offering('a/usd', price, 'usd_krw: 1387.350, margin_percent: 2.5'));
  const [version] = await historyOf('a/usd');
  assert.deepEqual(version?.stated, {
    currency: 'USD',
    per: '1M',
    prompt: '0.15',
    completion: '0.6',
    request: '0',
    cacheRead: '0.075',
    cacheWrite: null,
    usdKrw: '1387.35',
    marginPercent: '2.5',
    factsAsOf: null,
  });
  assert.equal(version?.price.prompt, 213_305_063n);
  assert.equal(version?.publishedAtMs, atMs);
});

test('an unchanged price creates no version, however it is written; another price, rate or margin creates one', async () => {
  const usd = 'prompt: 0.15, completion: 0.6, currency: USD, per: 1M';
  const steps: readonly (readonly [price: string, exchange: string, isNew: boolean])[] = [
    [usd, 'usd_krw: 1400', true],
    [usd, 'usd_krw: 1400', false],
    [usd, 'usd_krw: 1400.00, margin_percent: 0', false],
    ['prompt: 1.5e-7, completion: 0.0000006, currency: USD', 'usd_krw: 1400', false],
    [usd, 'usd_krw: 1401', true],
    [usd, 'usd_krw: 1401, margin_percent: 1', true],
    // The same won from another rate: the rate is part of what was published.
    [usd, 'usd_krw: 1415.01', true],
    ['prompt: 0.15, completion: 0.7, currency: USD, per: 1M', 'usd_krw: 1415.01', true],
    // The same won, stated in won.
    ['prompt: 212.2515, completion: 990.507, per: 1M', 'usd_krw: 1', true],
    ['prompt: 0.2122515, completion: 0.990507, per: 1K', 'usd_krw: 2', false],
    // A return to the first price is a new version: the first one is not revived.
    [usd, 'usd_krw: 1400', true],
  ];
  let last = 0;
  for (const [price, exchange, isNew] of steps) {
    const version = await publish(offering('a/steps', price, exchange));
    assert.equal(version !== last, isNew, `${price} ${exchange}`);
    last = version;
  }
  assert.equal((await historyOf('a/steps')).length, steps.filter(([, , isNew]) => isNew).length);
});

// spec:money/2.8, spec:money/2.9
test('rows of tiers and of the upstream are published with the price, and a change of one is a new version', async () => {
  const priced = (write: number, prompt: string, more = ''): string =>
    `prompt: 1, completion: 2, cache_write_1h: ${write}, tiers: [{ tier: priority, prompt: ${prompt}, completion: 4, cache_write_1h: 5 }]${more}`;
  const upstream = (rate: string): string =>
    `, upstream_price: { prompt: 0.5, completion: 1, currency: CNY, rate: ${rate}, per: 1M }, per: token`;
  const steps: readonly (readonly [price: string, isNew: boolean, isLarge: boolean])[] = [
    ['prompt: 1, completion: 2', true, false],
    // Without a row it was billed as ordinary: to twice of that is no large change.
    [priced(2, '2'), true, false],
    [priced(2, '2.0'), false, false],
    [priced(11, '2'), true, false],
    [priced(11, '21'), true, true],
    [priced(11, '21', upstream('190')), true, false],
    [priced(11, '21', upstream('190.0')), false, false],
    [priced(11, '21', upstream('191')), true, false],
    [priced(200, '21', upstream('191')), true, true],
    ['prompt: 1, completion: 2', true, true],
  ];
  let last = 0;
  for (const [price, isNew, isLarge] of steps) {
    const config = offering('a/tiers', price);
    const changes = (await differenceTo(database, config)).filter(({ model }) => model === 'a/tiers');
    assert.equal(changes.some(isLargeChange), isLarge, price);
    const version = await publish(config);
    assert.equal(version !== last, isNew, price);
    last = version;
    const [offered] = config.models[0]?.candidates ?? [];
    const stored = (await historyOf('a/tiers')).at(-1);
    assert.deepEqual([stored?.price, stored?.stated], [offered?.price, offered?.stated]);
  }
});

test('published prices never change', async () => {
  await publish(offering('a/kept', 'prompt: 1, completion: 1'));
  const whole = 'SELECT row_to_json(p)::text AS row FROM price_version p ORDER BY id';
  const before = await database.query<{ row: string }>(whole);
  for (const prompt of [2, 3, 1])
    await publish(offering('a/kept', `prompt: ${prompt}, completion: 1, currency: USD`));
  const after = await database.query<{ row: string }>(whole);
  assert.deepEqual(after.slice(0, before.length), before);
  assert.equal(after.length, before.length + 3);
});

test('processes that publish one configuration concurrently create one version and one publication', async () => {
  const processes = Array.from({ length: 6 }, () => new Database(testDatabase.address, 2));
  try {
    for (const prompt of [1, 2, 3]) {
      const config = offering('a/race', `prompt: ${prompt}, completion: 1, currency: USD`);
      const publications = await database.query<{ n: bigint }>('SELECT count(*) AS n FROM catalogue_edition');
      const versions = await Promise.all(processes.map((one) => publish(config, one)));
      assert.equal(new Set(versions).size, 1, String(versions));
      assert.equal((await historyOf('a/race')).length, prompt);
      const [row] = await database.query<{ n: bigint }>('SELECT count(*) AS n FROM catalogue_edition');
      assert.equal(row?.n, (publications[0]?.n ?? 0n) + 1n);
    }
  } finally {
    for (const one of processes) await one.close();
  }
});

test('the current publication has the models of the last configuration in order, and lists its changes', async () => {
  const text = (models: string): Config =>
    configOf(`providers: [{ slug: p, dialect: openai, base_url: "http://h" }, { slug: q, dialect: openai, base_url: "http://h" }]
models: ${models}`);
  const price = (prompt: number): string =>
    `context_length: 9, price: { prompt: ${prompt}, completion: 1, per: token, confirm: true }`;
  const changesOf = async (config: Config): Promise<readonly string[]> =>
    (await publishPrices(database, config, { atMs, announce: 'edition' })).changes.map(
      ({ change, model, candidate }) => `${change} ${model} ${candidate}`,
    );
  await changesOf(text('[]'));
  const first = text(
    `[{ id: b/two, ${price(1)}, candidates: [{ provider: p }] }, { id: b/one, ${price(1)}, candidates: [{ provider: p }, { provider: q }] }]`,
  );
  assert.deepEqual(await changesOf(first), [
    'model_added b/two p/b/two',
    'model_added b/one p/b/one',
    'model_added b/one q/b/one',
  ]);
  assert.deepEqual(
    (await readPublished(database)).map(({ model, candidate }) => `${model} ${candidate}`),
    ['b/two p/b/two', 'b/one p/b/one', 'b/one q/b/one'],
  );
  const second = text(
    `[{ id: b/one, ${price(2)}, candidates: [{ provider: p }, { provider: q, model: other }] }]`,
  );
  assert.deepEqual(await changesOf(second), [
    'price_changed b/one p/b/one',
    'candidate_added b/one q/other',
    'model_gone b/two p/b/two',
    'candidate_gone b/one q/b/one',
  ]);
  assert.deepEqual(await changesOf(second), []);
  assert.deepEqual(await readHistory(database, 'b/no'), {
    known: ['a/kept', 'a/race', 'a/steps', 'a/tiers', 'a/usd', 'b/one', 'b/two'],
  });
});

/**
 * The rates that a version's own record gives, by the rule of the house: one rounding, at 12
 * decimals of a won.
 */
function recomputed({ currency, per, usdKrw, marginPercent, ...stated }: StatedPrice): readonly bigint[] {
  const exchange = currency === 'USD' ? { usdKrw: usdKrw ?? '', marginPercent: marginPercent ?? '' } : null;
  const rate = (text: string, units: bigint = unitsOf[per]): bigint => rateOf(text, units, exchange) ?? -1n;
  const { prompt, completion, request, cacheRead, cacheWrite } = stated;
  return [
    rate(prompt),
    rate(completion),
    rate(request, 1n),
    rate(cacheRead ?? prompt),
    rate(cacheWrite ?? prompt),
  ];
}

const amount = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 99n }),
    fc.stringMatching(/^[0-9]{1,16}$/),
    fc.integer({ min: -9, max: 0 }),
  )
  .map(([whole, fraction, exponent]) => `${whole}.${fraction}e${exponent}`);

test('the rates of any published version can be recomputed to the last decimal', async () => {
  const names = ['prompt', 'completion', 'request', 'cache_read', 'cache_write'];
  const prices = fc.record({
    amounts: fc.tuple(amount, amount, amount, amount, amount),
    currency: fc.constantFrom('KRW', 'USD'),
    per: fc.constantFrom<keyof typeof unitsOf>('token', '1K', '1M'),
    usdKrw: fc.constantFrom('1400', '1387.35', '0.001', '1e1', '1234.567890123456'),
    margin: fc.constantFrom('0', '2.50', '33.3333333', '1e-3'),
  });
  await checkAsync(
    fc.asyncProperty(prices, async ({ amounts, currency, per, usdKrw, margin }) => {
      // The configuration rejects prices that round to 0 without being 0.
      const exact = currency === 'USD' ? { usdKrw, marginPercent: margin } : null;
      fc.pre(
        amounts.every(
          (text, index) =>
            plainDecimal(text) === '0' ||
            rateOf(text, names[index] === 'request' ? 1n : unitsOf[per], exact) !== 0n,
        ),
      );
      const members = amounts.map((text, index) => `${names[index]}: ${text}`).join(', ');
      const exchange = `usd_krw: ${usdKrw}, margin_percent: ${margin}`;
      const config = offering('a/any', `${members}, currency: ${currency}, per: ${per}`, exchange);
      const id = await publish(config);
      const version = (await readPublished(database)).find((one) => one.id === id);
      assert.ok(version?.stated);
      const { prompt, completion, request, cacheRead, cacheWrite } = version.price;
      assert.deepEqual([prompt, completion, request, cacheRead, cacheWrite], recomputed(version.stated));
      assert.deepEqual(version.price, config.models[0]?.candidates[0]?.price);
    }),
    { numRuns: 60 },
  );
});
