/**
 * `npm run fuzz:providers [-- --runs 200000 --seed N]`: generated conversations, each encoded for
 * one of all APIs and judged as that API would. Prints the counts; exits with 1 on a finding, which
 * it prints minimised.
 */
import { parseArgs } from 'node:util';
import { checkLaw } from './law.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const seed = Number(values.seed);
try {
  const { accepted, leftOut } = await checkLaw(Number(values.runs), seed);
  console.log(`seed ${seed}: ${accepted} requests are accepted, ${leftOut} candidates left out`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
