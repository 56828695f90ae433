import { parentPort } from 'node:worker_threads';
import type { ThreadJob, ThreadResult } from './job-thread.ts';
import { type ParsedJson, parseJson } from './json.ts';
import { yieldProcessor } from './yield-processor.ts';

yieldProcessor();

/** The thread that parses large bodies, one at a time. */
parentPort?.on('message', ({ id, job }: ThreadJob<readonly Uint8Array[]>) => {
  const message: ThreadResult<ParsedJson> = { id, result: parseJson(Buffer.concat(job)) };
  parentPort?.postMessage(message);
});
