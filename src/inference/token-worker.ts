import { parentPort } from 'node:worker_threads';
import { countWindows, loadTokenCounter } from './count-tokens.ts';
import type { CountedJob, CountJob } from './token-counts.ts';

/** The thread that counts long texts: one job after the other, each answered with its count. */
parentPort?.on('message', async ({ id, texts, enough }: CountJob) => {
  const count = await loadTokenCounter();
  let tokens = 0;
  for (const counted of countWindows(texts, count)) {
    tokens += counted;
    if (tokens > enough) break;
  }
  const answer: CountedJob = { id, tokens };
  parentPort?.postMessage(answer);
});
