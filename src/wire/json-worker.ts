import { parentPort } from 'node:worker_threads';
import type { ThreadJob, ThreadResult } from './job-thread.ts';
import { type ParsedJson, parseJson } from './parse-json.ts';

/** The thread that parses large bodies, one at a time. */
parentPort?.on('message', ({ id, job }: ThreadJob<Uint8Array>) => {
  const message: ThreadResult<ParsedJson> = { id, result: parseJson(job) };
  parentPort?.postMessage(message);
});
