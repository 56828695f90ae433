/**
 * The load generator, a separate process: one `LoadJob` a line of JSON on standard input, one
 * `LoadResult` a line of standard output. Ends with its input. It keeps running between
 * measurements so that its code stays compiled.
 */
import { createInterface } from 'node:readline';
import { type LoadJob, runLoad } from './load-run.ts';

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const result = await runLoad(JSON.parse(line) as LoadJob);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
