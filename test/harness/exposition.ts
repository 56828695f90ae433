import assert from 'node:assert/strict';

/** One series of a metrics page. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metrics page, read as a scraper reads it. */
export interface Page {
  readonly text: string;
  readonly types: ReadonlyMap<string, string>;
  readonly series: readonly Series[];
  /** The value of the one series with this name and these labels. */
  value(name: string, labels?: Readonly<Record<string, string>>): number;
}

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|[+-]?[0-9.]+(?:e[+-]?\d+)?)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/** Reads the Prometheus text format 0.0.4 and fails the test on anything that it forbids. */
export function parseExposition(text: string): Page {
  assert.ok(text.endsWith('\n'), 'the last line has an end');
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const series: Series[] = [];
  let family = '';
  const closed = new Set<string>();
  for (const each of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(each) ?? [];
    if (kind === 'HELP') {
      assert.ok(!helps.has(name), `${name} is explained twice, or its series are not together`);
      helps.add(name);
    } else if (kind === 'TYPE') {
      assert.ok(helps.has(name) && !types.has(name), each);
      assert.match(rest, /^(counter|gauge|histogram|summary|untyped)$/);
      types.set(name, rest);
      closed.add(family);
      assert.ok(!closed.has(name), `the lines of ${name} are not together`);
      family = name;
    } else if (each !== '') {
      const found = parseSeries(each);
      const base =
        types.get(family) === 'histogram' ? found.name.replace(/_(bucket|sum|count)$/, '') : found.name;
      assert.equal(base, family, `${each} stands under ${family}`);
      series.push(found);
    }
  }
  const keys = series.map(keyOf);
  assert.equal(new Set(keys).size, keys.length, 'no series twice');
  for (const [name, type] of types) {
    if (type === 'counter') {
      assert.match(name, /_total$/);
      for (const one of series) assert.ok(one.name !== name || one.value >= 0, `${name} is below 0`);
    }
    if (type === 'histogram') assertHistograms(name, series);
  }
  return {
    text,
    types,
    series,
    value(name, labels = {}) {
      const wanted = keyOf({ name, labels, value: 0 });
      const found = series.filter((one) => keyOf(one) === wanted);
      assert.equal(found.length, 1, wanted);
      return found[0]?.value ?? Number.NaN;
    },
  };
}

function parseSeries(text: string): Series {
  const [, name = '', inside = '', value = ''] =
    line.exec(text) ?? assert.fail(`no line of a metric: ${text}`);
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  while (label.lastIndex < inside.length) {
    const [, key = '', escaped = ''] = label.exec(inside) ?? assert.fail(`no labels: ${inside}`);
    assert.ok(!(key in labels), `${key} twice`);
    labels[key] = escaped.replaceAll(/\\([\\"n])/g, (_, sign) => (sign === 'n' ? '\n' : sign));
  }
  return { name, labels, value: value.endsWith('Inf') ? Number(`${value}inity`) : Number(value) };
}

function keyOf({ name, labels }: Series): string {
  return JSON.stringify([name, Object.entries(labels).toSorted()]);
}

/** Buckets that grow up to +Inf, which is the count. */
function assertHistograms(name: string, series: readonly Series[]): void {
  const without = ({ le: _, ...labels }: Readonly<Record<string, string>>): string =>
    JSON.stringify(Object.entries(labels).toSorted());
  const buckets = Map.groupBy(
    series.filter((one) => one.name === `${name}_bucket`),
    (one) => without(one.labels),
  );
  for (const one of series) {
    if (one.name === name) assert.fail(`${name} is a histogram and has a line without a suffix`);
    if (one.name === `${name}_sum` || one.name === `${name}_count`)
      assert.ok(buckets.has(without(one.labels)), `${keyOf(one)} has no bucket`);
  }
  for (const [labels, all] of buckets) {
    const ends = all.map((one) => (one.labels['le'] === '+Inf' ? Infinity : Number(one.labels['le'])));
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    );
    assert.equal(ends.at(-1), Infinity);
    const counts = all.map((one) => one.value);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    const count = series.find((one) => one.name === `${name}_count` && without(one.labels) === labels);
    assert.equal(count?.value, counts.at(-1));
    assert.ok(series.some((one) => one.name === `${name}_sum` && without(one.labels) === labels));
  }
}
