import { join } from 'node:path';
import { startChild, TARGET_CORE } from './child.ts';
import type { LoadJob } from './load-run.ts';

/** The responses of the fast upstream, by the first part of its path. */
export const workloads = ['whole', 'unbuffered', 'batched', 'paced', 'held'] as const;
export type Workload = (typeof workloads)[number];

/** A path to the upstream. */
export interface Target {
  readonly name: TargetName;
  /** The process whose cost is measured; null without a process in between. */
  readonly pid: number | null;
  /** The address and the request of a workload, whose body has so many bytes. */
  jobOf(workload: Workload, bodyBytes?: number): Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'>;
  /** The reads of an open dashboard; only Naru has one. */
  dashboard?(): Promise<readonly Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'>[]>;
  /**
   * One line for each condition that must hold after `responses` successful requests; broken ones
   * begin with `not ok`.
   */
  verify(responses: number): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** The ways to the upstream: the yardsticks, other gateways (with `--peers`), Naru. */
export const targetNames = ['direct', 'nginx', 'floor', 'portkey', 'litellm', 'naru'] as const;
export type TargetName = (typeof targetNames)[number];
export const peerNames: readonly TargetName[] = ['portkey', 'litellm'];

/** What a target needs to start. */
export interface Ground {
  readonly upstreamPort: number;
  /** A folder for its files. */
  readonly directory: string;
}

/** The request of all targets: JSON of so many bytes. */
export function requestBody(model: string, stream: boolean, bodyBytes = 1024): string {
  const body = (content: string): string =>
    JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    });
  const sentence = 'when does the ferry leave for the other side? ';
  return body(sentence.repeat(Math.ceil(bodyBytes / sentence.length)).slice(0, bodyBytes - body('').length));
}

/** The upstream without a gateway. */
export function directTarget({ upstreamPort }: Ground): Target {
  return {
    name: 'direct',
    pid: null,
    jobOf: (workload, bodyBytes) => plainRequest(upstreamPort, workload, bodyBytes),
    verify: async () => [],
    stop: async () => {},
  };
}

/** A bare `node:http` and `undici`: what any proxy on this runtime costs. */
export async function floorTarget({ upstreamPort }: Ground): Promise<Target> {
  const command = [process.execPath, join(import.meta.dirname, 'floor.ts'), String(upstreamPort)];
  const child = await startChild({
    name: 'floor',
    command,
    core: TARGET_CORE,
    ready: /:(\d+)$/,
    limitMs: 10_000,
  });
  const port = Number(child.started?.[1]);
  return {
    name: 'floor',
    pid: child.pid,
    jobOf: (workload, bodyBytes) => plainRequest(port, workload, bodyBytes),
    verify: async () => [],
    stop: child.stop,
  };
}

/** The upstream's own path on a given port. */
export function plainRequest(
  port: number,
  workload: Workload,
  bodyBytes?: number,
): ReturnType<Target['jobOf']> {
  const body = requestBody('bench-model', workload !== 'whole', bodyBytes);
  return { port, path: `/${workload}/v1/chat/completions`, headers: {}, body };
}
