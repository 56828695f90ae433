/**
 * `npm run chaos:operator [-- --quick --record]`: an installation as a new operator makes and runs it from the
 * documents alone: two nodes, nginx, OpenID Connect, S3, own and bought models, a month of traffic with
 * a refund, leavers, outages and the month end. Its commands are those of the pages. `--quick` has a few
 * days of the month. Prints a line a step; `--record` writes `docs/operations/trial.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reportOf } from './operator/report.ts';
import { runTrial } from './operator/trial.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, record: { type: 'boolean', default: false } },
});
const root = join(import.meta.dirname, '../..');
// The service may not write to the program, so its owner builds it.
execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' });
const beganMs = performance.now();
const steps = await runTrial({
  quick: values.quick,
  print: (line) => void process.stdout.write(`${line}\n`),
});
const tookMs = performance.now() - beganMs;
if (values.record) {
  const folder = join(root, 'docs/operations');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'trial.md'), reportOf(steps, tookMs, values.quick));
}
process.stdout.write(
  `all ${steps.length} steps did what their pages promise, in ${Math.round(tookMs / 1_000)} s\n`,
);
process.exit(0);
