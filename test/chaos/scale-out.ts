/**
 * `npm run chaos:scale-out [-- --quick --seed N --clients N --only PART]`: three gateways behind nginx, PostgreSQL with a
 * synchronous standby and two upstreams, each in a network namespace of this machine; each part is
 * killed in turn under a constant load. Prints a row of figures for each part and a line a goal;
 * exits with 1 when one is missed. Needs root, iproute2 and nginx.
 */
import './build-program.ts';
import { parseArgs } from 'node:util';
import { report } from './audit.ts';
import { runScaleOutDrill } from './scale-out/drill.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    clients: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(`chaos:scale-out --seed ${values.seed} --clients ${values.clients}${values.quick ? ' --quick' : ''}`);
const beganMs = performance.now();
const goals = await runScaleOutDrill({
  seed: Number(values.seed),
  clients: Number(values.clients),
  only: values.only,
  awayMs: values.quick ? 3_000 : 10_000,
  print,
});
const met = report(goals, print);
print(`${met ? 'all goals met' : 'GOALS MISSED'} in ${Math.round((performance.now() - beganMs) / 1000)} s`);
process.exit(met ? 0 : 1);
