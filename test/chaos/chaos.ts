/**
 * `npm run chaos [-- --only GOAL[,GOAL] --seed N --quick]`: everything that Naru must survive, one
 * goal after another, each with real processes, sockets and databases. Prints a line a goal as it
 * ends; exits with 1 when one is missed.
 */
import './build-program.ts';
import { parseArgs } from 'node:util';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { canaries } from './goals/canaries.ts';
import { controls } from './goals/controls.ts';
import { crossing } from './goals/crossing.ts';
import { databaseFaults } from './goals/database-faults.ts';
import { diskFull } from './goals/disk-full.ts';
import type { GoalRun, Outcome } from './goals/goal.ts';
import { hostileBodies } from './goals/hostile-bodies.ts';
import { kills } from './goals/kills.ts';
import { lostCommits } from './goals/lost-commits.ts';
import { openStreams } from './goals/open-streams.ts';
import { overload } from './goals/overload.ts';
import { unread } from './goals/unread-responses.ts';

const goals: Readonly<Record<string, (run: GoalRun) => Promise<readonly Outcome[]>>> = {
  kills,
  'lost-commits': lostCommits,
  database: databaseFaults,
  disk: diskFull,
  overload,
  unread,
  streams: openStreams,
  crossing,
  canaries,
  controls,
  bodies: hostileBodies,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(goals).join() },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    quick: { type: 'boolean', default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const run: GoalRun = { seed: Number(values.seed), quick: values.quick, print };
print(`chaos --seed ${run.seed} --only ${values.only}${run.quick ? ' --quick' : ''}`);
const beganMs = performance.now();
const server = await startTestServer((line) => process.stderr.write(`${line}\n`));
process.env[serverVariable] = JSON.stringify(server.connection);
const outcomes: Outcome[] = [];
try {
  for (const name of values.only.split(',')) {
    const goal = goals[name];
    if (goal === undefined) throw new Error(`--only ${name}: there are ${Object.keys(goals).join(', ')}`);
    for (const one of await goal(run).catch((error) => [broken(name, error)])) {
      outcomes.push(one);
      const word = one.met === null ? 'NOT RUN' : one.met ? 'met' : 'MISSED';
      print(`${word}  ${one.name}: wanted ${one.wanted}; found ${one.found}`);
      for (const fault of one.faults?.slice(0, 5) ?? []) print(`          ${fault}`);
    }
  }
} finally {
  await server.stop();
}
const missed = outcomes.filter((one) => one.met === false).length;
const skipped = outcomes.filter((one) => one.met === null).length;
print(
  `${missed === 0 ? 'all goals met' : `${missed} GOALS MISSED`} of ${outcomes.length}${skipped === 0 ? '' : `, ${skipped} not run`} in ${Math.round((performance.now() - beganMs) / 1000)} s`,
);
process.exit(missed === 0 ? 0 : 1);

function broken(name: string, error: unknown): Outcome {
  const found = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { name, wanted: 'an outcome', found, met: false };
}
