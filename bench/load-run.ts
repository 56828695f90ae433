import { checkResponse } from './load-check.ts';
import { Line } from './load-line.ts';

/** One measurement to make. */
export interface LoadJob {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: a GET, whose response must be a JSON object. */
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
  /**
   * Requests a second, evenly spaced; null for as many as the connections can do one after the
   * other.
   */
  readonly perSecond: number | null;
  /** Content chunks that each stream must have; null for a JSON response. */
  readonly chunks: number | null;
}

/** The result. Every request sent is counted, since the run waits for the last responses. */
export interface LoadResult {
  readonly responses: number;
  readonly failures: number;
  readonly firstFailure: string | null;
  /** From the first request to the last response. */
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The share of its core that the generator itself used. */
  readonly generatorBusy: number;
}

/** How long the last responses may take after the last request was sent. */
const DRAIN_MS = 20_000;

/**
 * Runs one measurement. Never rejects because of the target: its errors are failures in the result.
 */
export function runLoad(job: LoadJob): Promise<LoadResult> {
  const request = requestBytes(job);
  const done = Promise.withResolvers<LoadResult>();
  const samples: number[] = [];
  const lines = new Set<Line>();
  const busy = new Set<Line>();
  const idle: Line[] = [];
  /** When requests were due for which no connection was free: their latency counts from then. */
  const late: number[] = [];
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const stopMs = startMs + job.seconds * 1000;
  let lastMs = startMs;
  let due = 0;
  let failures = 0;
  let firstFailure: string | null = null;
  const limit = setTimeout(() => finish('responses were missing at the end'), job.seconds * 1000 + DRAIN_MS);

  function send(line: Line, sinceMs: number): void {
    busy.add(line);
    line.send(sinceMs);
  }

  function responded(line: Line, sinceMs: number, first: Buffer | null): void {
    lastMs = performance.now();
    busy.delete(line);
    samples.push(lastMs - sinceMs);
    const fault = first === null ? null : checkResponse(first, job.body === '' ? 'object' : job.chunks);
    if (fault !== null) note(fault);
    const nextMs = job.perSecond === null ? lastMs : late.shift();
    if (lastMs < stopMs && nextMs !== undefined) send(line, nextMs);
    else {
      idle.push(line);
      finishWhenDrained();
    }
  }

  function failed(line: Line, why: string): void {
    lines.delete(line);
    busy.delete(line);
    if (idle.includes(line)) idle.splice(idle.indexOf(line), 1);
    note(why);
    if (lines.size === 0) finish(null);
    else finishWhenDrained();
  }

  function note(why: string): void {
    failures += 1;
    firstFailure ??= why;
  }

  function pace(perSecond: number): void {
    const nowMs = performance.now();
    for (; nowMs < stopMs && startMs + (due * 1000) / perSecond <= nowMs; due += 1) {
      const line = idle.pop();
      if (line === undefined) late.push(nowMs);
      else send(line, nowMs);
    }
    const nextMs = startMs + (due * 1000) / perSecond;
    if (nowMs >= stopMs) finishWhenDrained();
    else setTimeout(pace, Math.max(1, nextMs - nowMs), perSecond);
  }

  function finishWhenDrained(): void {
    if (busy.size === 0 && performance.now() >= stopMs) finish(null);
  }

  function finish(why: string | null): void {
    clearTimeout(limit);
    if (why !== null) note(why);
    for (const line of lines) line.close();
    lines.clear();
    const used = process.cpuUsage(cpu);
    const elapsedMs = lastMs - startMs;
    samples.sort((a, b) => a - b);
    done.resolve({
      responses: samples.length,
      failures,
      firstFailure,
      elapsedMs,
      p50Ms: quantile(samples, 0.5),
      p99Ms: quantile(samples, 0.99),
      maxMs: samples.at(-1) ?? 0,
      generatorBusy: (used.user + used.system) / 1000 / Math.max(1, performance.now() - startMs),
    });
  }

  for (let n = 0; n < job.connections; n += 1) lines.add(new Line(job.port, request, { responded, failed }));
  if (job.perSecond === null) for (const line of lines) send(line, performance.now());
  else {
    idle.push(...lines);
    pace(job.perSecond);
  }
  return done.promise;
}

/** The value below which the fraction `q` of the sorted samples lies; 0 when there are none. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** The bytes of the request of a job. */
export function requestBytes(job: Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'>): Buffer {
  const { port, path, body } = job;
  const headers = {
    host: `127.0.0.1:${port}`,
    ...(body === ''
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...job.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${body === '' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
