/**
 * `npm run chaos:cluster -- --coordinator URL --workers HOST:PORT,… [--quick --seed N]`: two gateways
 * serve a load from a Citus cluster of this machine, while one of its workers and then the
 * coordinator are killed for 30 s (`--quick`: 10 s). Prints a line a goal; exits with 1 when one is
 * missed. The user of the URL creates and drops a database of the drill.
 */
import './build-program.ts';
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { addressOf, workersOf, workersVariable } from '../harness/citus.ts';
import { report } from './audit.ts';
import { runClusterDrill } from './cluster-drill.ts';

const { values } = parseArgs({
  options: {
    coordinator: { type: 'string' },
    workers: { type: 'string' },
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
if (values.coordinator === undefined || values.workers === undefined)
  throw new Error('state --coordinator URL and --workers HOST:PORT,HOST:PORT');
const coordinator = addressOf(values.coordinator);
const workers = workersOf(values.workers, coordinator);
process.env[workersVariable] = JSON.stringify(workers);
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(`chaos:cluster --seed ${values.seed}${values.quick ? ' --quick' : ''}`);
const goals = await runClusterDrill({
  coordinator,
  workers,
  database: `drill_${randomBytes(4).toString('hex')}`,
  seed: Number(values.seed),
  awayMs: values.quick ? 10_000 : 30_000,
  print,
});
const met = report(goals, print);
print(met ? 'all goals met' : 'GOALS MISSED');
process.exit(met ? 0 : 1);
