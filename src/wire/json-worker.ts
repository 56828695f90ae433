import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer, ThreadJob } from './job-thread.ts';
import { type ParsedJson, parseJson } from './parse-json.ts';

/** The thread that parses large bodies, one at a time. */
parentPort?.on('message', ({ id, job }: ThreadJob<Uint8Array>) => {
  const answer: ThreadAnswer<ParsedJson> = { id, answer: parseJson(job) };
  parentPort?.postMessage(answer);
});
