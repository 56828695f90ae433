/**
 * Many slow streams, as a gateway of language models carries them: each has 50 chunks a second for
 * two seconds and starts at a random instant. How many a core carries, what a chunk waits at half of
 * that, also beside long prompts and a dashboard, and what a chunk and a stream cost.
 */
import { cpuMsOf, memoryKbOf } from './cpu.ts';
import { type Figure, tableOfGoals } from './goals.ts';
import type { Load } from './measure.ts';
import type { PacedJob, PacedResult } from './paced-run.ts';
import type { Target, TargetName } from './target.ts';

/** Numbers of streams at once. */
const levels = [100, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_500, 2_000];
/** A core carries as many streams as it passes on with this delay at most. */
const maxDelayP99Ms = 10;
const maxGeneratorBusy = 0.9;
/** Beside the streams: prompts of 1 MB, and each read of a dashboard. */
const besides = { bytes: 1_000_000, promptsPerSecond: 10, readsPerSecond: 3, connections: 4, chunks: null };
const seconds = 3;
/** Open at the same time, before anything else: memory that a process has and does not use hides theirs. */
const heldStreams = 2_000;
/** V8 still optimizes after seconds, and a server runs for weeks. */
const warmUp = { streams: 100, seconds: 12 };

interface Paced extends PacedResult {
  readonly streams: number;
  readonly cpuUs: number | null;
}

/** What one target carried. */
export interface Carried {
  readonly name: TargetName;
  /** Zero when it did not even carry the fewest. */
  readonly streams: number;
  /** Whether the load generator was the limit. */
  readonly isLeast: boolean;
  /** At the most streams carried, and at half of them. */
  readonly full: Paced;
  readonly half: Paced;
  /** Without a target in between, at that half. */
  readonly direct: Paced;
  /** At that half beside prompts of 1 MB, and beside a dashboard. */
  readonly prompts: Paced;
  readonly dashboard: Paced | null;
  /** Of an open stream, kB; null without a process. */
  readonly memoryKb: number | null;
}

/** Runs a job on the load generator. */
export type PacedLoad = (job: PacedJob) => Promise<PacedResult>;

/** Measures one target; about two minutes. */
export async function carriedBy(
  { load, held }: { readonly load: PacedLoad; readonly held: Load },
  target: Target,
  direct: Target,
): Promise<Carried> {
  const memoryKb = await memoryOf(held, target);
  await paced(load, target, warmUp.streams, warmUp.seconds);
  let full: Paced | null = null;
  let isLeast = true;
  for (const streams of levels) {
    const one = await paced(load, target, streams);
    const isCarried = one.failures === 0 && one.delayP99Ms <= maxDelayP99Ms;
    isLeast = one.generatorBusy > maxGeneratorBusy || isCarried;
    if (!isCarried) {
      full ??= one;
      break;
    }
    full = one;
  }
  if (full === null) throw new Error('there is no level');
  const isAny = full.failures === 0 && full.delayP99Ms <= maxDelayP99Ms;
  const half = await paced(load, target, Math.ceil(full.streams / 2));
  return {
    name: target.name,
    streams: isAny ? full.streams : 0,
    isLeast,
    full,
    half,
    direct: await paced(load, direct, half.streams),
    ...(await besideOthers(load, target, half.streams)),
    memoryKb,
  };
}

async function besideOthers(load: PacedLoad, target: Target, streams: number) {
  const { bytes, promptsPerSecond, readsPerSecond, ...rest } = besides;
  const prompt = { ...target.jobOf('whole', bytes), ...rest, perSecond: promptsPerSecond };
  const prompts = await paced(load, target, streams, seconds, [prompt]);
  const reads = (await target.dashboard?.())?.map((read) => ({
    ...read,
    ...rest,
    perSecond: readsPerSecond,
  }));
  return {
    prompts,
    dashboard: reads === undefined ? null : await paced(load, target, streams, seconds, reads),
  };
}

async function paced(
  load: PacedLoad,
  target: Target,
  streams: number,
  forSeconds = seconds,
  beside: PacedJob['beside'] = [],
): Promise<Paced> {
  const { pid } = target;
  const before = pid === null ? 0 : (cpuMsOf(pid) ?? 0);
  const result = await load({ ...target.jobOf('paced'), streams, seconds: forSeconds, beside });
  const cpuMs = pid === null ? null : (cpuMsOf(pid) ?? 0) - before;
  return { ...result, streams, cpuUs: cpuMs === null ? null : (cpuMs * 1000) / Math.max(1, result.chunks) };
}

/** Of silent streams, beyond the memory before. */
async function memoryOf(load: Load, target: Target): Promise<number | null> {
  const { pid } = target;
  if (pid === null) return null;
  const before = memoryKbOf(pid);
  let most = 0;
  const looks = setInterval(() => {
    most = Math.max(most, memoryKbOf(pid));
  }, 500);
  const rest = { connections: heldStreams, seconds: 0.1, perSecond: null, chunks: 1 };
  const { failures } = await load({ ...target.jobOf('held'), ...rest }).finally(() => clearInterval(looks));
  return failures > 0 ? null : (most - before) / heldStreams;
}

/** All targets as a Markdown table, then Naru's figures beside their goals. */
export function pacedTables(all: readonly Carried[]): readonly string[] {
  const number = (value: number | null, digits = 3) =>
    value === null ? '—' : Number(value.toPrecision(digits)).toLocaleString('en-US');
  const added = (of: (one: Paced) => number) => (one: Carried) =>
    number(one.name === 'direct' ? of(one.half) : of(one.half) - of(one.direct));
  const rows: readonly (readonly [string, (one: Carried) => string])[] = [
    ['streams, p99 delay of a chunk ≤ 10 ms', (one) => `${one.isLeast ? '≥ ' : ''}${number(one.streams)}`],
    ['added delay of a chunk p50, half, ms', added(({ delayP50Ms }) => delayP50Ms)],
    ['added delay of a chunk p99, half, ms', added(({ delayP99Ms }) => delayP99Ms)],
    ['added to first chunk p50, half, ms', added(({ firstP50Ms }) => firstP50Ms)],
    ['added to first chunk p99, half, ms', added(({ firstP99Ms }) => firstP99Ms)],
    ['delay of a chunk p99, half, beside 1 MB prompts, ms', ({ prompts }) => number(prompts.delayP99Ms)],
    [
      'delay of a chunk p99, half, beside a dashboard, ms',
      ({ dashboard }) => number(dashboard?.delayP99Ms ?? null),
    ],
    ['CPU µs a chunk', ({ full }) => number(full.cpuUs)],
    ['memory of a stream, 2,000 started at once, kB', ({ memoryKb }) => number(memoryKb)],
  ];
  const lines = [
    ['', ...all.map(({ name }) => name)],
    ['---', ...all.map(() => '---:')],
    ...rows.map(([title, cell]) => [title, ...all.map(cell)]),
  ];
  const failed = all.flatMap(({ name, half, full, prompts, dashboard }) =>
    [half, full, prompts, ...(dashboard === null ? [] : [dashboard])].flatMap(({ failures, firstFailure }) =>
      failures === 0 ? [] : [`- ${name}: ${failures} failed, first: ${firstFailure}`],
    ),
  );
  const text = [...lines.map((cells) => `| ${cells.join(' | ')} |`), ...failed].join('\n');
  const figures = figuresOf(all);
  return figures.length === 0 ? [text] : [text, tableOfGoals(figures)];
}

function figuresOf(all: readonly Carried[]): readonly Figure[] {
  const of = (wanted: TargetName) => all.find(({ name }) => name === wanted);
  const naru = of('naru');
  if (naru === undefined) return [];
  const ratio = (name: TargetName, value: (one: Carried) => number | null) =>
    (value(naru) ?? Number.NaN) /
    (of(name) === undefined ? Number.NaN : (value(of(name) as Carried) ?? Number.NaN));
  const added = (value: (one: Paced) => number) => value(naru.half) - value(naru.direct);
  return [
    {
      wanted: { title: 'streams a core carries, of nginx', unit: '×', atLeast: 1 },
      value: ratio('nginx', ({ streams }) => streams),
    },
    {
      wanted: { title: 'streams a core carries, of Portkey', unit: '×', atLeast: 3 },
      value: ratio('portkey', ({ streams }) => streams),
    },
    {
      wanted: { title: 'added delay of a chunk, p50', unit: 'ms', atMost: 0.3 },
      value: added(({ delayP50Ms }) => delayP50Ms),
    },
    {
      wanted: { title: 'added delay of a chunk, p99', unit: 'ms', atMost: 3 },
      value: added(({ delayP99Ms }) => delayP99Ms),
    },
    {
      wanted: { title: 'first chunk added, p50', unit: 'ms', atMost: 1 },
      value: added(({ firstP50Ms }) => firstP50Ms),
    },
    {
      wanted: { title: 'first chunk added, p99', unit: 'ms', atMost: 5 },
      value: added(({ firstP99Ms }) => firstP99Ms),
    },
    {
      wanted: { title: 'delay of a chunk beside 1 MB prompts, p99', unit: 'ms', atMost: 15 },
      value: naru.prompts.delayP99Ms,
    },
    {
      wanted: { title: 'delay of a chunk beside a dashboard, p99', unit: 'ms', atMost: 15 },
      value: naru.dashboard?.delayP99Ms ?? Number.NaN,
    },
    {
      wanted: { title: 'CPU of a paced chunk, of nginx', unit: '×', atMost: 1.2 },
      value: ratio('nginx', ({ full }) => full.cpuUs),
    },
  ];
}
