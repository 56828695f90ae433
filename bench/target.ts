import type { LoadJob } from './load-run.ts';

/** The responses of the fast upstream, by the first part of its path. */
export type Workload = 'whole' | 'unbuffered' | 'batched';

/** A path to the upstream. */
export interface Target {
  readonly name: TargetName;
  /** The process whose cost is measured; null without a process in between. */
  readonly pid: number | null;
  /** The address and the request of a workload. */
  jobOf(workload: Workload): Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'>;
  /**
   * One line for each condition that must hold after `responses` successful requests; broken ones
   * begin with `not ok`.
   */
  verify(responses: number): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** The three ways to the upstream, the yardsticks first. */
export const targetNames = ['direct', 'nginx', 'naru'] as const;
export type TargetName = (typeof targetNames)[number];

/** The request of all targets: 1,024 bytes of JSON. */
export function requestBody(model: string, stream: boolean): string {
  const body = (content: string): string =>
    JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    });
  return body('when does the ferry leave for the other side? '.repeat(25).slice(0, 1024 - body('').length));
}

/** The upstream without a gateway. */
export function directTarget(upstreamPort: number): Target {
  return {
    name: 'direct',
    pid: null,
    jobOf: (workload) => plainRequest(upstreamPort, workload),
    verify: async () => [],
    stop: async () => {},
  };
}

/** The upstream's own path on a given port. */
export function plainRequest(port: number, workload: Workload): ReturnType<Target['jobOf']> {
  const body = requestBody('bench-model', workload !== 'whole');
  return { port, path: `/${workload}/v1/chat/completions`, headers: {}, body };
}
