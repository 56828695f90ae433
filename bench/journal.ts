/**
 * The journal against a plain loop of "write what has arrived, fdatasync": `node bench/journal.ts
 * [directory]`. Figures of one run on one host; compare the ratio, not the numbers.
 */
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Journal, type Ticket } from '../src/journal/journal.ts';
import { FINAL, OPEN } from '../src/journal/record.ts';
import { systemClock } from '../src/time/clock.ts';

const payload = JSON.stringify({ generation: 'gen-0123456789abcdef', note: 'x'.repeat(240) });
const recordBytes = payload.length + 9;
const seconds = 4;
const turnSeconds = 0.5;
const turns = 30;
const root = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'naru-bench-journal-'));
const print = (name: string, value: string): void =>
  void process.stdout.write(`${name.padEnd(56)}${value}\n`);
const quantileOf = (sorted: Float64Array, q: number): number =>
  sorted[Math.floor((sorted.length - 1) * q)] ?? 0;
const printWaits = (name: string, sorted: Float64Array): void =>
  print(
    `${name}, p50 / p99 / max  `,
    [0.5, 0.99, 1].map((q) => `${quantileOf(sorted, q).toFixed(2)} ms`).join(' / '),
  );

/** Batches as fast as they become durable; bytes of records per second. */
async function journalBytesPerSecond(perBatch: number): Promise<number> {
  const journal = await Journal.open({ dir: join(root, `burst-${perBatch}`), clock: systemClock });
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < seconds * 1000) {
    const tickets: Ticket[] = [];
    for (let i = 0; i < perBatch; i++) tickets.push(journal.append(FINAL, payload));
    await journal.durable(tickets[0] as Ticket);
    for (const ticket of tickets) journal.release(ticket);
    done += perBatch;
  }
  const rate = (done * recordBytes) / ((performance.now() - start) / 1000);
  await journal.close();
  return rate;
}

/**
 * The same batches by a loop that only writes and syncs, over a file that exists already: what the
 * disk gives at this moment.
 */
async function baselineBytesPerSecond(perBatch: number): Promise<number> {
  const waits: number[] = [];
  const fd = openSync(join(root, 'baseline'), 'w');
  const batch = Buffer.alloc(perBatch * recordBytes, 'x');
  const size = Math.max(16 * 1024 * 1024, batch.length * 2);
  const sync = promisify(fdatasync);
  writeSync(fd, Buffer.alloc(size));
  await sync(fd);
  const start = performance.now();
  let [done, at] = [0, 0];
  while (performance.now() - start < seconds * 1000) {
    if (at + batch.length > size) at = 0;
    const from = performance.now();
    at += writeSync(fd, batch, 0, batch.length, at);
    await sync(fd);
    waits.push(performance.now() - from);
    done += batch.length;
  }
  closeSync(fd);
  printWaits(`${perBatch} records a batch: plain loop`, Float64Array.from(waits).sort());
  return done / ((performance.now() - start) / 1000);
}

/**
 * The calls of a steady rate: a record at the beginning, one at the end, and the wait until that is
 * durable.
 */
interface Sink {
  call(): Promise<void>;
  /** Syncs so far. */
  readonly syncs: number;
  close(): Promise<void>;
}

async function journalSink(): Promise<Sink> {
  const journal = await Journal.open({ dir: join(root, 'latency'), clock: systemClock });
  return {
    async call() {
      const opened = journal.append(OPEN, payload);
      const final = journal.append(FINAL, payload);
      await journal.durable(final);
      journal.release(opened);
      journal.release(final);
    },
    get syncs() {
      return journal.stats().syncs;
    },
    close: () => journal.close(),
  };
}

/** The minimum: one write for each turn, and callers during a sync share the next one. */
async function plainSink(): Promise<Sink> {
  const size = 16 * 1024 * 1024;
  const fd = openSync(join(root, 'plain'), 'w');
  const sync = promisify(fdatasync);
  const bytes = Buffer.alloc(1024 * 1024, 'x');
  writeSync(fd, Buffer.alloc(size));
  await sync(fd);
  let waiting: (() => void)[] = [];
  let [unwritten, at, syncs, isSyncing, isScheduled] = [0, 0, 0, false, false];
  const turn = async (): Promise<void> => {
    isScheduled = false;
    const length = Math.min(unwritten, bytes.length);
    if (at + length > size) at = 0;
    at += writeSync(fd, bytes, 0, length, at);
    unwritten = 0;
    if (isSyncing || waiting.length === 0) return;
    const served = waiting;
    waiting = [];
    isSyncing = true;
    await sync(fd);
    isSyncing = false;
    syncs += 1;
    for (const resolve of served) resolve();
    if (waiting.length > 0) schedule();
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => void turn());
  };
  return {
    call: () => {
      unwritten += 2 * recordBytes;
      schedule();
      return new Promise((resolve) => waiting.push(resolve));
    },
    get syncs() {
      return syncs;
    },
    close: async () => closeSync(fd),
  };
}

/** Sends calls of a steady rate through a sink for half a second; returns how long each waited. */
async function drive(sink: Sink, callsPerSecond: number): Promise<Float64Array> {
  const waits = new Float64Array(callsPerSecond * turnSeconds);
  const start = performance.now();
  let [begun, ended] = [0, 0];
  const call = async (index: number): Promise<void> => {
    const from = performance.now();
    await sink.call();
    waits[index] = performance.now() - from;
    ended += 1;
  };
  while (ended < waits.length) {
    const due = Math.min(waits.length, ((performance.now() - start) / 1000) * callsPerSecond);
    while (begun < due) void call(begun++);
    await new Promise(setImmediate);
    if (begun >= due) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return waits;
}

/**
 * How long the end of a call takes to be durable, by the journal and by the plain loop in
 * alternating rounds of half a second: the speed of a shared disk varies, and both get the same
 * disk.
 */
async function latency(callsPerSecond: number): Promise<void> {
  const all = { journal: new Float64Array(0), 'plain loop': new Float64Array(0) };
  const sinks = { journal: await journalSink(), 'plain loop': await plainSink() };
  const cpu = { user: 0, system: 0 };
  for (const sink of Object.values(sinks)) await drive(sink, callsPerSecond);
  for (let turn = 0; turn < turns; turn += 1)
    for (const name of ['journal', 'plain loop'] as const) {
      const before = process.cpuUsage();
      all[name] = Float64Array.from([...all[name], ...(await drive(sinks[name], callsPerSecond))]);
      const used = process.cpuUsage(before);
      if (name === 'journal') [cpu.user, cpu.system] = [cpu.user + used.user, cpu.system + used.system];
    }
  const { syncs } = sinks.journal;
  const name = `${callsPerSecond * 2} records/s`;
  for (const which of ['journal', 'plain loop'] as const) {
    all[which].sort();
    printWaits(`${name}: ${which}`, all[which]);
    await sinks[which].close();
  }
  const ratioAt = (q: number): string =>
    (quantileOf(all.journal, q) / quantileOf(all['plain loop'], q)).toFixed(2);
  print(`${name}: journal / plain loop at p50, p99`, `${ratioAt(0.5)} / ${ratioAt(0.99)}`);
  print(`${name}: records per sync`, ((callsPerSecond * 2 * turnSeconds * (turns + 1)) / syncs).toFixed(1));
  const ofCore = (cpu.user + cpu.system) / 1e6 / (turns * turnSeconds);
  print(`${name}: CPU of the journal`, `${(ofCore * 100).toFixed(0)} % of a core`);
}

try {
  await latency(5000);
  await latency(12000);
  for (const perBatch of [10, 1000]) {
    const baseline = await baselineBytesPerSecond(perBatch);
    const journal = await journalBytesPerSecond(perBatch);
    print(
      `${perBatch} records a batch: journal`,
      `${Math.round(journal / recordBytes)} appends/s, ${(journal / 1e6).toFixed(1)} MB/s`,
    );
    print(
      `${perBatch} records a batch: plain loop`,
      `${(baseline / 1e6).toFixed(1)} MB/s; ratio ${(journal / baseline).toFixed(2)}`,
    );
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
