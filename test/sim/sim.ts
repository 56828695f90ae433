/** `npm run sim [-- --seeds N --from S --steps K --trace]`; see README.md beside this file. */
import { parseArgs } from 'node:util';
import { runSeeds } from './campaign.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '3000' },
    trace: { type: 'boolean', default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const campaign = await runSeeds({
  from: Number(values.from),
  seeds: Number(values.seeds),
  steps: Number(values.steps),
  twice: 20,
  ...(values.trace ? { trace: print } : {}),
});
for (const line of campaign.report) print(line);
process.exit(campaign.failed ? 1 : 0);
