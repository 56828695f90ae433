import { connect } from 'node:net';
import { machineUs, PACED_CHUNKS, PACED_EVERY_MS, readStamps } from '../test/harness/paced-stamp.ts';
import { type LoadJob, type LoadResult, quantile, requestBytes, runLoad } from './load-run.ts';

/** Many slow streams at once: each connection starts at a random instant and repeats its stream. */
export interface PacedJob extends Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'> {
  readonly streams: number;
  /** Counted, after the first streams have ended. */
  readonly seconds: number;
  /** Other clients at the same time. */
  readonly beside: readonly Omit<LoadJob, 'seconds'>[];
}

/** What the streams showed. */
export interface PacedResult {
  /** All that came, those before the counted time included. */
  readonly chunks: number;
  readonly responses: number;
  readonly failures: number;
  readonly firstFailure: string | null;
  /** From the upstream's write to the generator's read. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  /** From the request to the first chunk with content. */
  readonly firstP50Ms: number;
  readonly firstP99Ms: number;
  readonly generatorBusy: number;
  /** Of the other clients, whose failures are included above. */
  readonly beside: readonly LoadResult[];
}

const streamMs = PACED_CHUNKS * PACED_EVERY_MS;
/** How long streams may take to end, beyond their own time. */
const drainMs = 10_000;
const lastChunk = '0\r\n\r\n';

/** Runs one measurement. Errors of the target are failures in the result. */
export async function runPaced(job: PacedJob): Promise<PacedResult> {
  const request = requestBytes(job);
  const delays: number[] = [];
  const firsts: number[] = [];
  const startMs = performance.now();
  const countedFromMs = startMs + 1.5 * streamMs;
  const stopMs = countedFromMs + job.seconds * 1000;
  const cpu = process.cpuUsage();
  const result = { chunks: 0, responses: 0, failures: 0, firstFailure: null as string | null };
  const note = (why: string): void => {
    result.failures += 1;
    result.firstFailure ??= why;
  };
  const besideSeconds = (stopMs - startMs) / 1000;
  const others = job.beside.map((other) => runLoad({ ...other, seconds: besideSeconds }));
  await Promise.all(Array.from({ length: job.streams }, () => connection()));
  const beside = await Promise.all(others);
  for (const other of beside) {
    result.failures += other.failures;
    result.firstFailure ??= other.firstFailure;
  }
  const used = process.cpuUsage(cpu);
  for (const times of [delays, firsts]) times.sort((a, b) => a - b);
  return {
    ...result,
    delayP50Ms: quantile(delays, 0.5) / 1000,
    delayP99Ms: quantile(delays, 0.99) / 1000,
    firstP50Ms: quantile(firsts, 0.5),
    firstP99Ms: quantile(firsts, 0.99),
    beside,
    generatorBusy: (used.user + used.system) / 1000 / (performance.now() - startMs),
  };

  /** One connection; resolves when its last stream has ended. */
  function connection(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect({ port: job.port, host: '127.0.0.1', noDelay: true });
    let sentMs = 0;
    let chunks = -1;
    let carry: Buffer = Buffer.alloc(0);
    const end = (why: string | null): void => {
      clearTimeout(limit);
      if (why !== null) note(why);
      socket
        .removeAllListeners()
        .on('error', () => {})
        .destroy();
      resolve();
    };
    const limit = setTimeout(() => end('a stream did not end'), stopMs - startMs + 2 * streamMs + drainMs);
    const send = (): void => {
      chunks = 0;
      sentMs = performance.now();
      socket.write(request);
    };
    const found = (us: number): void => {
      const nowMs = performance.now();
      if (chunks === 0 && nowMs > countedFromMs) firsts.push(nowMs - sentMs);
      chunks += 1;
      result.chunks += 1;
      if (nowMs > countedFromMs && nowMs < stopMs) delays.push(machineUs() - us);
    };
    socket.on('error', (error) => end(String(error)));
    socket.on('close', () => end('the server closed the connection'));
    socket.on('data', (read: Buffer) => {
      const bytes = carry.length === 0 ? read : Buffer.concat([carry, read]);
      if (chunks === 0 && sentMs > 0 && bytes.indexOf('HTTP/1.1 ') === 0 && bytes[9] !== 0x32)
        return end(`not a 200: ${bytes.toString('utf8', 0, 300)}`);
      const rest = readStamps(bytes, found);
      const isEnd = bytes.toString('latin1', bytes.length - lastChunk.length) === lastChunk;
      carry = isEnd ? Buffer.alloc(0) : bytes.subarray(Math.min(rest, Math.max(0, bytes.length - 4)));
      if (!isEnd) return;
      result.responses += 1;
      if (chunks !== PACED_CHUNKS) note(`${chunks} chunks instead of ${PACED_CHUNKS}`);
      if (performance.now() < stopMs) send();
      else end(null);
    });
    setTimeout(send, Math.random() * streamMs);
    return promise;
  }
}
