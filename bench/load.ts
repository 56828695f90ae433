/**
 * The load generator, a separate process: one `LoadJob` or `PacedJob` a line of JSON on standard
 * input, its result a line of standard output. Ends with its input. It keeps running between
 * measurements so that its code stays compiled.
 */
import { createInterface } from 'node:readline';
import { type LoadJob, runLoad } from './load-run.ts';
import { type PacedJob, runPaced } from './paced-run.ts';

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line) as LoadJob | PacedJob;
  const result = await ('streams' in job ? runPaced(job) : runLoad(job));
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
