import { cpus, totalmem } from 'node:os';
import { isoOf, systemClock } from '../src/time/clock.ts';
import { fastPerSecond, type Measure, type Sample } from './measure.ts';
import type { TargetName } from './target.ts';

/** Below this share of its core a target was not the bottleneck. */
const SATURATED = 0.9;

const titles = { whole: 'requests/s', unbuffered: 'chunks/s, unbuffered', batched: 'chunks/s, batched' };

/**
 * The results as a Markdown table: medians over the rounds, one row a figure, one column a target.
 */
export function table(samples: readonly Sample[], targets: readonly TargetName[]): string {
  const rows = [
    ...(['whole', 'unbuffered', 'batched'] as const).flatMap((name) => rateRows(samples, targets, name)),
    ...latencyRows(samples, targets),
  ];
  const head = ['', ...targets];
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
  direct as it is, the others minus direct.
- \`floor\` is a bare \`node:http\` server with \`undici\` behind it. Naru bills every request: journal before the last byte,
  settlement in its embedded PostgreSQL. Of the others, none stores anything.
- The last table is of Naru alone. Memory is proportional shares, but that of streams resident.

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
  const cells = targets.map((target) => {
    const busy = median(samples, target, name, (one) => one.busy);
    return `${busy !== null && busy < SATURATED ? '≥ ' : ''}${count(rate(target))}`;
  });
  const unit = name === 'whole' ? 'request' : 'chunk';
  return [
    [titles[name], ...cells],
    [`CPU µs a ${unit}`, ...targets.map((target) => count(cost(target)))],
  ];
}

/**
 * The processor time at a rate, and the latency that a target adds to `direct`.
 */
function latencyRows(samples: readonly Sample[], targets: readonly TargetName[]): readonly Row[] {
  const at = `${count(fastPerSecond)}/s`;
  const cost = (target: TargetName) => median(samples, target, 'fast', (one) => one.cpuUs);
  const added = (which: 'p50Ms' | 'p99Ms'): Row => {
    const value = (target: TargetName) => median(samples, target, 'fast', (one) => one[which]);
    const direct = value('direct');
    const cells = targets.map((target) => {
      const own = value(target);
      if (own === null) return '—';
      if (samples.some((one) => one.target === target && one.measure === 'fast' && !one.keptPace))
        return 'overloaded';
      return (target === 'direct' || direct === null ? own : own - direct).toFixed(2);
    });
    return [`added latency ${which.slice(0, 3)}, ${at}, ms`, ...cells];
  };
  return [
    added('p50Ms'),
    added('p99Ms'),
    [`CPU µs a request, ${at}`, ...targets.map((target) => count(cost(target)))],
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
