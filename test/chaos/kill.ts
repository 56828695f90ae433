/**
 * `npm run chaos:kill [-- --trials 60 --seed N --clients 32 --break journal|idempotency]`: kills
 * the real server under load at random instants, and compares what the clients received with the
 * ledger. One line a goal; exits with 1 when one is missed. A `--break` is a negative control: it
 * must miss some.
 */
import './build-program.ts';
import { parseArgs } from 'node:util';
import { report } from './audit.ts';
import { runKills } from './kill-trials.ts';

const { values } = parseArgs({
  options: {
    trials: { type: 'string', default: '60' },
    clients: { type: 'string', default: '32' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    break: { type: 'string', default: 'none' },
  },
});
const { break: sabotage } = values;
if (sabotage !== 'none' && sabotage !== 'journal' && sabotage !== 'idempotency')
  throw new Error(`--break ${sabotage} is unknown`);
const [trials, clients, seed] = [Number(values.trials), Number(values.clients), Number(values.seed)];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(
  `chaos:kill --trials ${trials} --clients ${clients} --seed ${seed}${sabotage === 'none' ? '' : ` --break ${sabotage}`}`,
);
const beganMs = performance.now();
const goals = await runKills({ trials, clients, seed, sabotage, print });
const met = report(goals, print);
print(`${met ? 'all goals met' : 'GOALS MISSED'} in ${Math.round((performance.now() - beganMs) / 1000)} s`);
process.exit(met ? 0 : 1);
