import assert from 'node:assert/strict';
import type { Page } from '../harness/exposition.ts';

/** What PromQL and Prometheus itself name, beside metrics and their labels. */
const words = new Set(
  [
    'abs absent avg by changes count histogram_quantile increase max max_over_time min min_over_time',
    'rate sum time unless vector without and or on ignoring label_values',
  ]
    .join(' ')
    .split(' '),
);
/** Labels that Prometheus adds, and that of `--workers`. */
const addedLabels = ['job', 'instance', 'worker'];

/** Fails the test when a query names a metric, a label or the value of a label that no page has. */
export function assertNamesExist(query: string, page: Page): void {
  const selectors = [...query.matchAll(/\b((?:naru|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
  const labels = new Set(addedLabels);
  for (const [, metric = '', inside = ''] of selectors) {
    const series = page.series.filter(({ name }) => name === metric);
    assert.ok(series.length > 0, `the server has no metric ${metric}: ${query}`);
    for (const { labels: own } of series) for (const label of Object.keys(own)) labels.add(label);
    for (const [, label = '', isPattern, value = ''] of inside.matchAll(/(\w+)=(~?)"([^"]*)"/g)) {
      if (addedLabels.includes(label)) continue;
      const values = new Set(series.map((one) => one.labels[label]));
      assert.ok(!values.has(undefined), `${metric} has no label ${label}: ${query}`);
      for (const wanted of isPattern === '' ? [value] : value.split('|'))
        assert.ok(
          [...values].some((one) => new RegExp(`^(?:${wanted})$`).test(one ?? '')),
          `${metric} has no ${label} ${wanted}: ${query}`,
        );
    }
  }
  for (const [, list = ''] of query.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g))
    for (const label of list.split(',').map((one) => one.trim()))
      assert.ok(labels.has(label), `no metric has the label ${label}: ${query}`);
  const rest = query
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring) \([^)]*\)/g, '');
  for (const [word] of rest.matchAll(/\b[a-z_]\w*/g)) {
    const isMetric = word === 'up' || /^(?:naru|process|nodejs)_/.test(word);
    assert.ok(
      isMetric || words.has(word) || addedLabels.includes(word),
      `${word} is neither a metric nor a function: ${query}`,
    );
  }
}
