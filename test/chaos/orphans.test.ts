import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { which } from '../../src/postgres/run-command.ts';
import { createPayer } from '../harness/payer.ts';
import { until } from '../harness/until.ts';
import { request } from './client.ts';
import { createSite, isRunning, postmasterOf, startNaru } from './naru-process.ts';

const options = which('setpriv', process.env) === null ? { skip: 'needs setpriv' } : {};
const fakeEngine = join(import.meta.dirname, '../harness/fake-engine.ts');

test('kill -9 leaves neither an engine nor PostgreSQL running', options, async (t) => {
  const marker = `marker-${process.pid}-${Math.random()}`;
  const site = createSite('http://127.0.0.1:9', {
    slots: [
      {
        name: 'local',
        command: [process.execPath, fakeEngine, 'engine', '{port}', JSON.stringify({ marker })],
        ready_path: '/health',
      },
    ],
    models: [
      {
        id: 'test/local',
        context_length: 4096,
        price: { prompt: 1, completion: 1, per: 'token' },
        candidates: [{ slot: 'local' }],
      },
    ],
  });
  t.after(() => site.end());
  const naru = await startNaru(site);
  const ledger = await site.openAccounting();
  const payer = await createPayer(ledger.operator, '1000000', 1);
  await ledger.close();
  await request(
    naru.url,
    {
      tag: 'wakes it',
      accountId: payer.accountId,
      key: payer.keys[0]?.key ?? '',
      path: '/chat/completions',
      body: { model: 'test/local', messages: [{ role: 'user', content: 'wake up' }] },
      leaveAfterMs: null,
    },
    new Agent(),
  );
  const engines = processesOf(marker);
  assert.ok(engines.length > 0, 'the engine runs');
  const postmaster = postmasterOf(site) ?? assert.fail('no PostgreSQL');

  await naru.kill();
  await until(
    'engine and PostgreSQL are gone',
    () => !isRunning(postmaster) && processesOf(marker).length === 0,
    5_000,
  );
});

/** The processes whose command line contains the words. */
function processesOf(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isRunning(Number(name)))
    .filter((name) => commandLine(name).includes(text))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
