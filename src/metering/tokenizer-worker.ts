import { parentPort } from 'node:worker_threads';
import type { ThreadJob, ThreadResult } from '../wire/job-thread.ts';
import { countWindows, loadTokenCounter } from './count-tokens.ts';
import type { CountJob } from './tokenizer-pool.ts';

/** The thread that counts long texts: one job at a time, each with its count as the result. */
parentPort?.on('message', async ({ id, job: { texts, enough } }: ThreadJob<CountJob>) => {
  const count = await loadTokenCounter();
  let tokens = 0;
  for (const counted of countWindows(texts, count)) {
    tokens += counted;
    if (tokens > enough) break;
  }
  const message: ThreadResult<number> = { id, result: tokens };
  parentPort?.postMessage(message);
});
