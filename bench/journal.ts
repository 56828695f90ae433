/**
 * The journal against a plain loop of "write a batch, fdatasync": `node bench/journal.ts [directory]`.
 * Figures of one run on one machine; compare the ratio, not the numbers.
 */
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Journal, type Ticket } from '../src/store/journal/journal.ts';
import { FINAL, OPEN } from '../src/store/journal/record.ts';
import { systemClock } from '../src/time/clock.ts';

const payload = JSON.stringify({ generation: 'gen-0123456789abcdef', note: 'x'.repeat(240) });
const recordBytes = payload.length + 9;
const seconds = 4;
const root = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'naru-bench-journal-'));
const print = (name: string, value: string): void =>
  void process.stdout.write(`${name.padEnd(44)}${value}\n`);
const quantile = (sorted: Float64Array, q: number): string =>
  `${(sorted[Math.floor((sorted.length - 1) * q)] ?? 0).toFixed(2)} ms`;
const printWaits = (name: string, sorted: Float64Array): void =>
  print(`${name}, p50 / p99 / max  `, [0.5, 0.99, 1].map((q) => quantile(sorted, q)).join(' / '));

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

/** The same batches by a loop that only writes and syncs, over a file that exists already: what the disk gives at this moment. */
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

/** Calls at a steady rate, an OPEN and a FINAL record each; how long FINAL takes to be durable. */
async function latency(callsPerSecond: number): Promise<void> {
  const journal = await Journal.open({ dir: join(root, 'latency'), clock: systemClock });
  const waits = new Float64Array(callsPerSecond * (seconds + 1));
  const warmUp = callsPerSecond;
  const start = performance.now();
  let cpu = process.cpuUsage();
  let [begun, ended] = [0, 0];
  const call = async (index: number): Promise<void> => {
    const opened = journal.append(OPEN, payload);
    const from = performance.now();
    const final = journal.append(FINAL, payload);
    await journal.durable(final);
    waits[index] = performance.now() - from;
    journal.release(opened);
    journal.release(final);
    ended += 1;
  };
  while (ended < waits.length) {
    const due = Math.min(waits.length, ((performance.now() - start) / 1000) * callsPerSecond);
    if (begun <= warmUp && due > warmUp) cpu = process.cpuUsage();
    while (begun < due) void call(begun++);
    await new Promise(setImmediate);
    if (begun >= due) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const used = process.cpuUsage(cpu);
  const { syncs } = journal.stats();
  await journal.close();
  const records = waits.length * 2;
  const sorted = waits.subarray(warmUp).sort();
  const name = `${callsPerSecond * 2} records/s`;
  printWaits(`${name}: durable`, sorted);
  print(`${name}: records per sync`, (records / syncs).toFixed(1));
  print(`${name}: CPU`, `${(((used.user + used.system) / 1e6 / seconds) * 100).toFixed(0)} % of a core`);
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
