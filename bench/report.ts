import { cpus, totalmem } from 'node:os';
import { isoOf, systemClock } from '../src/time/clock.ts';
import { type LatencyName, type Measure, rates, type Sample } from './measure.ts';
import type { TargetName } from './target.ts';

/** Below this share of its core a target was not the bottleneck. */
const SATURATED = 0.9;

const titles = { whole: 'requests/s', unbuffered: 'chunks/s, unbuffered', batched: 'chunks/s, batched' };

/** The columns of ratios: Naru over each of these that was measured. */
const yardsticks: readonly TargetName[] = ['nginx', 'floor', 'portkey', 'litellm'];

/**
 * The results as a Markdown table: medians over the rounds, one row a figure, one column a target,
 * then ratios.
 */
export function table(samples: readonly Sample[], targets: readonly TargetName[]): string {
  const compared = targets.includes('naru') ? yardsticks.filter((name) => targets.includes(name)) : [];
  const columns = { targets, compared };
  const rows = [
    ...(['whole', 'unbuffered', 'batched'] as const).flatMap((name) => rateRows(samples, columns, name)),
    ...(['slow', 'fast', 'half'] as const).flatMap((name) => latencyRows(samples, columns, name)),
  ];
  const head = ['', ...targets, ...compared.map((name) => `naru : ${name}`)];
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
  write a chunk, batched one write a stream. Latency: whole responses at a fixed rate, whatever the target does (an open loop),
  direct as it is, the others minus direct; at half of the target's own peak as it is.
- \`floor\` is a bare \`node:http\` server with \`undici\` behind it. Naru bills every request: journal before the last byte,
  settlement in its embedded PostgreSQL. Of the others, none stores anything.
- The last table is of Naru alone. Memory is proportional shares, but that of streams resident.

${checks.map((line) => `- ${line}`).join('\n')}
`;
}

type Row = readonly string[];

interface Columns {
  readonly targets: readonly TargetName[];
  readonly compared: readonly TargetName[];
}

function rateRows(
  samples: readonly Sample[],
  { targets, compared }: Columns,
  name: keyof typeof titles,
): Row[] {
  const rate = (target: TargetName) => median(samples, target, name, (one) => one.perSecond);
  const cost = (target: TargetName) => median(samples, target, name, (one) => one.cpuUs);
  const ratios = (of: typeof rate) => compared.map((target) => ratio(of('naru'), of(target)));
  const cells = targets.map((target) => {
    const busy = median(samples, target, name, (one) => one.busy);
    return `${busy !== null && busy < SATURATED ? '≥ ' : ''}${count(rate(target))}`;
  });
  const unit = name === 'whole' ? 'request' : 'chunk';
  return [
    [titles[name], ...cells, ...ratios(rate)],
    [`CPU µs a ${unit}`, ...targets.map((target) => count(cost(target))), ...ratios(cost)],
  ];
}

/**
 * The processor time at a rate, and the latency that a target adds to `direct`; at half of the peak
 * the latency itself, since each target has its own rate.
 */
function latencyRows(
  samples: readonly Sample[],
  { targets, compared }: Columns,
  name: LatencyName,
): readonly Row[] {
  const isAdded = name !== 'half';
  const at = isAdded ? `${count(rates[name])}/s` : 'half of the peak';
  const cost = (target: TargetName) => median(samples, target, name, (one) => one.cpuUs);
  const added = (which: 'p50Ms' | 'p99Ms'): Row => {
    const value = (target: TargetName) => median(samples, target, name, (one) => one[which]);
    const direct = value('direct');
    const cells = targets.map((target) => {
      const own = value(target);
      if (own === null) return '—';
      if (samples.some((one) => one.target === target && one.measure === name && !one.keptPace))
        return 'overloaded';
      return target === 'direct' || direct === null || !isAdded
        ? `${own.toFixed(2)} ms`
        : `+ ${(own - direct).toFixed(2)} ms`;
    });
    const title = `${isAdded ? 'added ' : ''}latency ${which.slice(0, 3)}, ${at}`;
    return [title, ...cells, ...compared.map(() => '—')];
  };
  return [
    added('p50Ms'),
    added('p99Ms'),
    [
      `CPU µs a request, ${at}`,
      ...targets.map((target) => count(cost(target))),
      ...compared.map((target) => ratio(cost('naru'), cost(target))),
    ],
  ];
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

function ratio(value: number | null, base: number | null): string {
  return value === null || base === null || base === 0 ? '—' : `${Number((value / base).toPrecision(2))} ×`;
}
