/**
 * `npm run fuzz [-- --requests 100000 --seed N --from N]`: sends valid and invalid requests drawn
 * from a real gateway's own document, and checks every response and the ledger. `--from` begins at
 * that number of the seed, so that one request can be repeated alone. Prints the counts; exits with
 * 1 on a finding, which it prints minimised.
 */
import { parseArgs } from 'node:util';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { assertUnharmed } from './aftermath.ts';
import { runCampaign } from './campaign.ts';
import { printCampaign } from './report.ts';
import { startWorld } from './world.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    from: { type: 'string', default: '1' },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const server = await startTestServer(print);
process.env[serverVariable] = JSON.stringify(server.connection);
try {
  const world = await startWorld();
  try {
    const campaign = await runCampaign(world, {
      seed: Number(values.seed),
      from: Number(values.from),
      requests: Number(values.requests),
    });
    printCampaign(campaign, print);
    if (campaign.finding === null) await assertUnharmed(world, [campaign]);
    else process.exitCode = 1;
  } finally {
    await world.close();
  }
} finally {
  await server.stop();
}
