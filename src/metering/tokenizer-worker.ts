import { parentPort } from 'node:worker_threads';
import type { ThreadJob, ThreadResult } from '../wire/job-thread.ts';
import { yieldProcessor } from '../wire/yield-processor.ts';
import { countTexts } from './count-tokens.ts';
import type { CountJob } from './tokenizer-pool.ts';

yieldProcessor();

/** The thread that counts texts: jobs take turns, each with its count as the result. */
parentPort?.on('message', async ({ id, job: { texts, enough } }: ThreadJob<CountJob>) => {
  const message: ThreadResult<number> = { id, result: await countTexts(texts, enough) };
  parentPort?.postMessage(message);
});
