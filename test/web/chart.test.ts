import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDurationAxis } from '../../web/src/format/time.ts';
import { totalAt, totalOf } from '../../web/src/ui/chart/chart-data.ts';
import { coloursOf, otherKey } from '../../web/src/ui/chart/colour.ts';
import { labelIndexes, linePath, spreadLabels, ticksUpTo } from '../../web/src/ui/chart/scale.ts';
import { statusClassOf } from '../../web/src/usage/series.ts';
import { check } from '../harness/property.ts';

test('an axis begins at zero, covers its values and has few round labels', () => {
  check(
    fc.property(fc.double({ min: 1e-6, max: 1e18, noNaN: true }), (max) => {
      const ticks = ticksUpTo(max);
      assert.equal(ticks[0], 0);
      assert.ok((ticks.at(-1) ?? 0) >= max * (1 - 1e-9));
      assert.ok(ticks.length >= 3 && ticks.length <= 6, `${ticks}`);
    }),
  );
  assert.deepEqual(ticksUpTo(0), [0, 1]);
  assert.deepEqual(ticksUpTo(1.9), [0, 0.5, 1, 1.5, 2]);
  assert.deepEqual(ticksUpTo(1, true), [0, 1]);
  assert.deepEqual(ticksUpTo(9, true), [0, 5, 10]);
  assert.deepEqual(ticksUpTo(90, true), [0, 25, 50, 75, 100]);
});

test('the marks of a time axis differ from each other, whatever its end', () => {
  for (let endMs = 1; endMs < 20_000; endMs += 1) {
    const ticks = ticksUpTo(endMs, true);
    const marks = ticks.map((ms) => formatDurationAxis(ms, ticks.at(-1) ?? 0, 'ko'));
    assert.equal(new Set(marks).size, marks.length, `${endMs} ms: ${marks.join()}`);
  }
});

test('labels of an axis fit beside each other', () => {
  check(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 50, max: 2000 }),
      fc.integer({ min: 10, max: 200 }),
      (count, widthPx, labelPx) => {
        const labels = labelIndexes(count, widthPx, labelPx);
        assert.equal(labels[0], 0);
        assert.ok(labels.length <= Math.max(1, Math.floor(widthPx / labelPx)));
        assert.ok(labels.every((index) => index < count));
      },
    ),
  );
});

test('a line has a gap where there is no value, and a lonely value is a dot', () => {
  assert.equal(linePath([[0, 1], [1, 2], null, [3, 4], null]), 'M0.0 1.0L1.0 2.0M3.0 4.0h0.01');
  assert.equal(linePath([null, null]), '');
});

test('labels at the ends of lines do not overlap', () => {
  check(
    fc.property(
      fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { minLength: 1, maxLength: 6 }),
      (wanted) => {
        const placed = spreadLabels(wanted, 14, 0, 200).toSorted((a, b) => a - b);
        for (const [index, y] of placed.entries()) {
          assert.ok(y >= -1e-6 && y <= 200 + 1e-6);
          assert.ok(index === 0 || y - (placed[index - 1] ?? 0) >= 14 - 1e-6);
        }
      },
    ),
  );
});

test('a colour belongs to a rank, no two series share one, and a class of status keeps its own', () => {
  const keys = Array.from({ length: 9 }, (_, index) => ({ key: `model ${index}` }));
  const colours = coloursOf([...keys, { key: otherKey }]);
  assert.equal(new Set(colours).size, 10);
  assert.deepEqual(coloursOf(keys.toReversed()), colours.slice(0, 9));
  const statuses = ['200', '404', '429', '502', '499', '400', ''].map((key) => ({
    key,
    statusClass: statusClassOf(key),
  }));
  const all = coloursOf(statuses);
  assert.equal(new Set(all).size, statuses.length);
  assert.equal(all.at(-1), 'var(--chart-4)');
  assert.deepEqual(coloursOf(statuses.slice(3, 5)), all.slice(3, 5));
  assert.deepEqual(
    coloursOf([{ key: '503', statusClass: statusClassOf('503') }]),
    coloursOf([{ key: '500', statusClass: statusClassOf('500') }]),
  );
});

/** What people without cones for red, or for green, see of a colour: linear RGB (Machado 2009). */
const visions = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  withoutRed: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  withoutGreen: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
} as const;
/** Distances in CIELAB: 2 can be seen side by side, 10 is another colour at a glance. */
const minDistance = 10;

/** A colour as a vision has it, in CIELAB. */
function seenAs(hex: string, vision: keyof typeof visions): readonly number[] {
  const linear = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const [r = 0, g = 0, b = 0] = visions[vision].map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce<number>((sum, factor, index) => sum + factor * (linear[index] ?? 0), 0),
      ),
    ),
  );
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test('the colours of a chart differ for readers who cannot see red or green', () => {
  const css = readFileSync(join(import.meta.dirname, '../../web/src/ui/tokens.css'), 'utf8');
  const coloursBy = (name: RegExp) => [
    ...css.matchAll(new RegExp(`--(${name.source}): light-dark\\((#\\w{6}), (#\\w{6})\\)`, 'g')),
  ];
  // Beside the classes of status a chart has the rest, and requests without a status.
  const [ranks, statuses] = [coloursBy(/chart-\d/), coloursBy(/status-\w+|chart-other|chart-4/)];
  assert.deepEqual([ranks.length, statuses.length], [9, 6]);
  for (const [theme, pairs] of [
    [2, ranks],
    [3, ranks],
    [2, statuses],
    [3, statuses],
  ] as const)
    for (const vision of Object.keys(visions) as (keyof typeof visions)[])
      for (const [index, one] of pairs.entries())
        for (const other of pairs.slice(index + 1)) {
          const [a, b] = [seenAs(one[theme] ?? '', vision), seenAs(other[theme] ?? '', vision)];
          const distance = Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)));
          assert.ok(distance >= minDistance, `${one[theme]} and ${other[theme]}, ${vision}: ${distance}`);
        }
});

test('sums are exact, and missing values add nothing', () => {
  const series = [
    { key: 'a', label: 'a', values: [10n ** 20n, null, 1n] },
    { key: 'b', label: 'b', values: [1n, null, null] },
  ];
  assert.equal(totalAt(series, 0), 10n ** 20n + 1n);
  assert.equal(totalAt(series, 1), null);
  assert.equal(totalOf({ key: 'a', label: 'a', values: [10n ** 20n, null, 1n] }), 10n ** 20n + 1n);
});
