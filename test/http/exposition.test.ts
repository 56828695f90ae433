import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposition, Histogram } from '../../src/http/exposition.ts';
import { parseExposition } from '../harness/exposition.ts';

test('any label or help text is read back by a scraper', () => {
  const odd = 'a "b"\\ \n나루,}{=';
  const page = parseExposition(
    exposition([
      {
        name: 'odd',
        help: 'Back\\slash and\nanother line.',
        type: 'gauge',
        samples: [{ labels: { x: odd, y: '' }, value: 1 }],
      },
      {
        name: 'far',
        help: 'Far.',
        type: 'gauge',
        samples: [Number.NaN, Infinity, -Infinity, 1e300, -0.5].map((value, n) => ({
          labels: { n: `${n}` },
          value,
        })),
      },
      { name: 'none_total', help: 'None.', type: 'counter', samples: [] },
    ]),
  );
  assert.equal(page.value('odd', { x: odd, y: '' }), 1);
  assert.deepEqual(
    page.series.slice(1).map((one) => one.value),
    [Number.NaN, Infinity, -Infinity, 1e300, -0.5],
  );
});

test('a value counts in every bucket whose upper bound it does not exceed', () => {
  const histogram = new Histogram([0.1, 1, 10]);
  for (const value of [0, 0.1, 0.11, 10, 10.5]) histogram.observe(value);
  const { value } = parseExposition(
    exposition([{ name: 'h', help: 'H.', type: 'histogram', samples: histogram.samples({ slot: 's' }) }]),
  );
  const counts = ['0.1', '1', '10', '+Inf'].map((le) => value('h_bucket', { slot: 's', le }));
  assert.deepEqual(counts, [2, 3, 4, 5]);
  assert.equal(value('h_count', { slot: 's' }), 5);
  assert.ok(Math.abs(value('h_sum', { slot: 's' }) - 20.71) < 1e-9);
});

test('the reader of these tests can fail', () => {
  const head = '# HELP a A.\n# TYPE a gauge\n';
  for (const text of [
    'a 1\n',
    `${head}b 1\n`,
    `${head}a{x="} 1\n`,
    `${head}a 1\na 2\n`,
    `${head}a{x="\n"} 1\n`,
    `${head}a one\n`,
    `${head}a 1`,
    '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
  ])
    assert.throws(() => parseExposition(text), Error, text);
});
