import { cpus, totalmem } from 'node:os';
import { isoOf, systemClock } from '../src/time/clock.ts';
import type { Measure, Sample } from './measure.ts';
import type { TargetName } from './target.ts';

/** Below this share of its core a target was not the bottleneck. */
const SATURATED = 0.9;

const titles = { whole: 'requests/s', unbuffered: 'chunks/s, unbuffered', batched: 'chunks/s, batched' };

/**
 * The results as a Markdown table: medians over the rounds, one row a figure, one column a target,
 * then ratios.
 */
export function table(samples: readonly Sample[], targets: readonly TargetName[]): string {
  const rows = [
    ...(['whole', 'unbuffered', 'batched'] as const).flatMap((name) => rateRows(samples, targets, name)),
    latencyRow(samples, targets, 'p50Ms'),
    latencyRow(samples, targets, 'p99Ms'),
  ];
  const head = ['', ...targets, 'naru : nginx', 'naru : direct'];
  return [head, head.map((_, n) => (n === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** The header of a report page. */
export interface Run {
  readonly command: string;
  readonly chunks: number;
  /** Runnable processes in the minute before: the other load on the host. */
  readonly loadBefore: number;
}

/** The page that `--record` writes: how, where and when, then the table. */
export function page(run: Run, body: string, checks: readonly string[]): string {
  const cores = cpus();
  const machine = `${cores.length} × ${cores[0]?.model ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  return `# Results

Written by \`${run.command}\`, ${isoOf(systemClock.now())}.
Machine: ${machine}, ${process.platform} ${process.arch}, Node ${process.version}; load average before: ${run.loadBefore.toFixed(2)}.

${body}

- The process under test has one core to itself (Naru with its database); the load generator and the scripted upstream share
  the other one. \`direct\` is these two alone: the most that any target could show here.
- \`≥\`: the target had more than a tenth of its core left over, so generator and upstream were the limit. The processor time
  for each request or chunk does not suffer from that; its ratio is the one to quote.
- Whole: 64 connections, 1,024 bytes of JSON each way. Streams: ${run.chunks} content chunks each, 64 at a time; unbuffered is one
  write a chunk, batched one write a stream. Latency: whole responses at a low fixed rate, direct as it is, the others minus direct.
- Naru bills every request: journal before the last byte, settlement in its embedded PostgreSQL.

${checks.map((line) => `- ${line}`).join('\n')}
`;
}

type Row = readonly string[];

function rateRows(
  samples: readonly Sample[],
  targets: readonly TargetName[],
  name: keyof typeof titles,
): Row[] {
  const rate = (target: TargetName) => median(samples, target, name, (one) => one.perSecond);
  const cost = (target: TargetName) => median(samples, target, name, (one) => one.cpuUs);
  const rates = targets.map((target) => {
    const busy = median(samples, target, name, (one) => one.busy);
    return `${busy !== null && busy < SATURATED ? '≥ ' : ''}${count(rate(target))}`;
  });
  const unit = name === 'whole' ? 'request' : 'chunk';
  return [
    [titles[name], ...rates, ratio(rate('naru'), rate('nginx')), ratio(rate('naru'), rate('direct'))],
    [
      `CPU µs a ${unit}`,
      ...targets.map((target) => micros(cost(target))),
      ratio(cost('naru'), cost('nginx')),
      '—',
    ],
  ];
}

function latencyRow(
  samples: readonly Sample[],
  targets: readonly TargetName[],
  which: 'p50Ms' | 'p99Ms',
): Row {
  const value = (target: TargetName) => median(samples, target, 'latency', (one) => one[which]);
  const direct = value('direct');
  const cells = targets.map((target) => {
    const own = value(target);
    if (own === null) return '—';
    return target === 'direct' || direct === null
      ? `${own.toFixed(2)} ms`
      : `+ ${(own - direct).toFixed(2)} ms`;
  });
  return [`added latency ${which.slice(0, 3)}`, ...cells, '—', '—'];
}

function median(
  samples: readonly Sample[],
  target: TargetName,
  measure: Measure['name'],
  pick: (one: Sample) => number | null,
): number | null {
  const values = samples
    .filter((one) => one.target === target && one.measure === measure)
    .map(pick)
    .filter((value) => value !== null)
    .sort((a, b) => a - b);
  const middle = values.length >> 1;
  const high = values[middle];
  if (high === undefined) return null;
  return values.length % 2 === 1 ? high : (high + (values[middle - 1] ?? high)) / 2;
}

/** Three figures are all that a run on shared cores is worth. */
function count(value: number | null): string {
  return value === null ? '—' : Number(value.toPrecision(3)).toLocaleString('en-US');
}

function micros(value: number | null): string {
  return value === null ? '—' : value.toPrecision(3);
}

function ratio(value: number | null, base: number | null): string {
  return value === null || base === null || base === 0 ? '—' : `${(value / base).toPrecision(2)} ×`;
}
