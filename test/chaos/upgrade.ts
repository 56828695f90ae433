/**
 * `npm run chaos:upgrade [-- --from COMMIT --quick --seed N]`: replaces two servers behind nginx, one
 * after the other and under load, by the release of another commit: from before the newest migration
 * (or from COMMIT) to this one, back to the oldest release with the same schema, and forward again.
 * Prints a line a goal; exits with 1 when one is missed. Needs git and nginx.
 */
import { parseArgs } from 'node:util';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { report } from './audit.ts';
import { runUpgradeDrill } from './upgrade/drill.ts';
import { findCommits, releaseOf } from './upgrade/releases.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print(`chaos:upgrade --seed ${values.seed}${values.quick ? ' --quick' : ''}`);
const commits = findCommits(values.from ?? null);
const releases = {
  before: releaseOf('the older release', commits.before, print),
  with: releaseOf('the oldest with this schema', commits.with, print),
  now: releaseOf('this release', commits.now, print),
};
for (const { name, commit, schema } of Object.values(releases))
  print(`    ${name}: ${commit.slice(0, 8)}, schema ${schema}`);
const server = await startTestServer((line) => process.stderr.write(`${line}\n`));
process.env[serverVariable] = JSON.stringify(server.connection);
let met = false;
try {
  const besideMs = values.quick ? 3_000 : 15_000;
  met = report(await runUpgradeDrill({ ...releases, seed: Number(values.seed), besideMs, print }), print);
} finally {
  await server.stop();
}
print(met ? 'all goals met' : 'GOALS MISSED');
process.exit(met ? 0 : 1);
