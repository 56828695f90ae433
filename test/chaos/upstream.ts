/**
 * `npm run chaos:upstream [-- --only TEXT --seed N --scale 1]`: every way in which an upstream can
 * misbehave × {stream, whole} × {1, 3 candidates}, each judged by the client's view, the charge,
 * the record, and leftover sockets and timers. Prints a line a class and the failed cells; exits
 * with 1 when one failed.
 */
import { parseArgs } from 'node:util';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { runMatrix } from './faults/matrix.ts';
import { reportMatrix } from './faults/report.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    scale: { type: 'string', default: '1' },
  },
});
const [seed, scale] = [Number(values.seed), Number(values.scale)];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(
  `chaos:upstream --seed ${seed}${values.only === '' ? '' : ` --only '${values.only}'`}${scale === 1 ? '' : ` --scale ${scale}`}`,
);
const server = await startTestServer((line) => process.stderr.write(`${line}\n`));
process.env[serverVariable] = JSON.stringify(server.connection);
const beganMs = performance.now();
let met = false;
try {
  met = reportMatrix(await runMatrix({ scale, marginMs: 250, only: values.only, seed, brief: false }), print);
} finally {
  await server.stop();
}
print(`${met ? 'all goals met' : 'GOALS MISSED'} in ${Math.round((performance.now() - beganMs) / 1000)} s`);
process.exit(met ? 0 : 1);
