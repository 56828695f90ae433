/** The dashboard of deploy/grafana: every query names what a server shows, and returns data. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { firingAlerts } from './promtool.ts';
import { assertNamesExist } from './queries.ts';
import { scrape, startWatchedGateway } from './watched-gateway.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../deploy/grafana/naru.json'), 'utf8'),
);
const panels: readonly Panel[] = dashboard.panels;
/** Each query as Grafana sends it when everything is selected. */
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({
    title,
    legendFormat,
    query: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance)\b/g, '.*'),
  })),
);

test('the panels have ids of their own and do not overlap', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = new Set<string>();
  for (const { title, gridPos: at } of panels) {
    assert.ok(at.x + at.w <= 24, title);
    for (let x = at.x; x < at.x + at.w; x++)
      for (let y = at.y; y < at.y + at.h; y++) {
        assert.ok(!cells.has(`${x} ${y}`), title);
        cells.add(`${x} ${y}`);
      }
  }
});

test('every query names what the server shows and returns data', async (t) => {
  const { naru, send } = await startWatchedGateway(t);
  const before = await scrape(naru);
  for (const stream of [true, false]) assert.equal(await send('test/good', { stream }), 200);
  assert.equal(await send('test/slot'), 200);
  assert.ok((await send('test/dead')) >= 500);
  await naru.settled();
  const after = await scrape(naru);
  assert.ok(queries.length > 40);
  for (const { title, legendFormat, query } of queries) {
    assert.doesNotMatch(query, /\$/, title);
    assertNamesExist(query, after.page);
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
      assert.match(query, new RegExp(`by \\([^)]*\\b${label}\\b`), title);
  }
  for (const { query } of dashboard.templating.list.slice(1))
    assertNamesExist(query.query.replaceAll('$job', '.*'), after.page);
  const folder = mkdtempSync(join(tmpdir(), 'naru-dashboard-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const rules = queries.map(({ query }, n) => ({ alert: `Query${n}`, expr: `count(${query}) > 0` }));
  const ruleFile = join(folder, 'rules.yml');
  writeFileSync(ruleFile, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  const found = new Set(firingAlerts(ruleFile, before, after));
  const empty = queries.filter((_, n) => !found.has(`Query${n}`));
  assert.deepEqual(
    empty.map(({ title, query }) => `${title}: ${query}`),
    [],
  );
});
