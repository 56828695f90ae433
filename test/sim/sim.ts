/**
 * `npm run sim [-- --seeds N --from S --steps K --twice T --trace]`, and with `--points` or
 * `--mutations [--only TEXT]`; see README.md beside this file.
 */
import { parseArgs } from 'node:util';
import { importWithModel } from './model/with-model.ts';
import { runMutations } from './mutate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string' },
    twice: { type: 'string', default: '20' },
    trace: { type: 'boolean', default: false },
    points: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

if (values.mutations) {
  const { seeds = '2000', steps = '2500', only } = values;
  const areCaught = await runMutations({ seeds: Number(seeds), steps: Number(steps), only }, print);
  process.exit(areCaught ? 0 : 1);
}
const { runSeeds, runPoints } = await importWithModel<typeof import('./campaign.ts')>(
  new URL('campaign.ts', import.meta.url),
);
const from = Number(values.from);
const campaign = values.points
  ? await runPoints({ from, worlds: Number(values.seeds ?? 10), steps: Number(values.steps ?? 300) })
  : await runSeeds({
      from,
      seeds: Number(values.seeds ?? 1_000),
      steps: Number(values.steps ?? 3_000),
      twice: Number(values.twice),
      ...(values.trace ? { trace: print } : {}),
    });
for (const line of campaign.report) print(line);
process.exit(campaign.failed ? 1 : 0);
