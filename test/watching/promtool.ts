import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, Series } from '../harness/exposition.ts';
import { byTier } from '../harness/tier.ts';

/** The rules that an operator installs. */
export const ruleFile = join(import.meta.dirname, '../../deploy/prometheus/naru.rules.yml');
const binary = ['/usr/bin/promtool', '/usr/local/bin/promtool'].find(existsSync);

/** Runs promtool in a folder and returns its output; throws with its output when it fails. */
export function promtool(args: readonly string[], cwd: string, input = ''): string {
  if (binary === undefined)
    throw new Error('promtool is missing, and alerts cannot be tested without: apt-get install prometheus');
  try {
    return execFileSync(binary, args, {
      ...{ cwd, encoding: 'utf8', input, stdio: 'pipe' },
      // Collecting its garbage takes as long as its work.
      env: { ...process.env, GOGC: 'off' },
    });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`promtool ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}`);
  }
}

/** One reading of a metrics page, and when it was taken. */
export interface Scrape {
  readonly page: Page;
  readonly atMs: number;
}

/** How long each state lasts for Prometheus, unless a rule needs longer. */
const stateMinutesByDefault = 90;
/** How long counters rise at the end. */
const riseMinutes = 30;

/**
 * The alerts of a rule file that fire when Prometheus has seen a server for `stateMinutes` as `before`
 * shows it, and for as long as `after` does: gauges have the later value, counters rise evenly
 * from the earlier value to the later one during the last 30. With `firing|pending` also those that
 * would fire if that lasted.
 */
export function firingAlerts(
  ruleFile: string,
  before: Scrape,
  after: Scrape,
  stateMinutes = stateMinutesByDefault,
  state: 'firing' | 'firing|pending' = 'firing',
): readonly string[] {
  const output = failureOf(() =>
    testRules({
      rule_files: [ruleFile],
      evaluation_interval: byTier('5m', '1m'),
      tests: [
        {
          interval: '1m',
          input_series: inputOf(before, after, metricsIn(ruleFile), stateMinutes),
          // Reports what it found, as it never has this value.
          promql_expr_test: [
            {
              expr: `count by (alertname) (ALERTS{alertstate=~"${state}"})`,
              eval_time: `${2 * stateMinutes - 1}m`,
              exp_samples: [{ labels: '{alertname="none"}', value: -1 }],
            },
          ],
        },
      ],
    }),
  );
  const found = output.split(/^\s*got:/m)[1];
  if (found === undefined) throw new Error(output);
  return [...found.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name).toSorted();
}

/** Runs a file of unit tests with this content; returns and throws as `promtool` does. */
export function testRules(content: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'naru-alerts-'));
  try {
    writeFileSync(join(folder, 'test.yml'), JSON.stringify(content));
    return promtool(['test', 'rules', 'test.yml'], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function failureOf(work: () => string): string {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
}

/** The metrics that the rules read: a series of another one has no effect on them. */
function metricsIn(ruleFile: string): ReadonlySet<string> {
  return new Set(readFileSync(ruleFile, 'utf8').match(/\b(?:naru|process|nodejs)_\w+/g));
}

function inputOf(
  before: Scrape,
  after: Scrape,
  metrics: ReadonlySet<string>,
  stateMinutes: number,
): readonly { series: string; values: string }[] {
  const earlier = new Map(before.page.series.map((one) => [nameOf(one), one.value]));
  const rows = after.page.series.flatMap((one) => {
    if (!metrics.has(one.name)) return [];
    const name = nameOf(one);
    const type = typeOf(after.page, one.name);
    const isCounter = type === 'counter' || type === 'histogram';
    const from = earlier.get(name) ?? (isCounter ? 0 : one.value);
    const values = isCounter
      ? `${plain(from)}x${2 * stateMinutes - riseMinutes} ${rising(from, one.value)}`
      : `${plain(shifted(one.name, from, before))}x${stateMinutes} ${plain(shifted(one.name, one.value, after))}x${stateMinutes}`;
    return { series: name, values };
  });
  return [{ series: 'up{job="naru",instance="naru:8788"}', values: `1x${2 * stateMinutes}` }, ...rows];
}

function rising(from: number, to: number): string {
  return `${plain(from)}+${plain(Math.max(0, to - from) / riseMinutes)}x${riseMinutes}`;
}

/** The tests of promtool begin in 1970: an instant of the page is moved by the time of the scrape. */
function shifted(name: string, value: number, { atMs }: Scrape): number {
  return name.endsWith('_timestamp_seconds') ? value - atMs / 1000 : value;
}

function plain(value: number): string {
  return value.toFixed(9);
}

function typeOf({ types }: Page, name: string): string | undefined {
  return types.get(name) ?? types.get(name.replace(/_(bucket|sum|count)$/, ''));
}

function nameOf({ name, labels }: Series): string {
  const all = Object.entries({ job: 'naru', instance: 'naru:8788', ...labels });
  return `${name}{${all.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(',')}}`;
}
