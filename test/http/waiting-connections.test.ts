/** Clients that connect faster than the event loop accepts them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';

/** Prints how many of COUNT connections to PORT are open when nothing has changed for a second. */
const connecting = `
  const { connect } = require('node:net');
  const [port, count] = process.argv.slice(1).map(Number);
  let open = 0;
  const report = () => { process.stdout.write(String(open)); process.exit(0); };
  let quiet = setTimeout(report, 5_000);
  for (let n = 0; n < count; n += 1)
    connect({ port, host: '127.0.0.1' }).on('error', () => {}).on('connect', () => {
      open += 1;
      clearTimeout(quiet);
      if (open === count) report();
      quiet = setTimeout(report, 900);
    });
`;

test('thousands of clients can connect while the event loop is busy', async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const systemMax = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  const count = Math.min(1_500, systemMax);
  const args = ['-e', connecting, String(naru.gateway.server.port), String(count)];
  // Synchronous: the event loop accepts nothing meanwhile.
  const open = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  assert.equal(open, count);
  assert.equal((await naru.send('GET', '/models')).status, 200);
});
