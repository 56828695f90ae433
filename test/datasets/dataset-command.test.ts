/** `naru dataset sync` (spec:operator/1.10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { addDatasetCommands } from '../../src/cli/commands/dataset.ts';
import type { CliContext } from '../../src/cli/context.ts';
import type { Config } from '../../src/config/config.ts';
import { readAppPeriod } from '../../src/datasets/app-rankings.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import { reply } from '../harness/upstream.ts';
import { type ScriptedSource, syncForEach, type TestSync } from './scripted-source.ts';

let source: ScriptedSource;
let at: TestSync;

syncForEach((one, sync) => {
  [source, at] = [one, sync];
});

async function run(
  args: readonly string[],
  datasets: Config['datasets'] = source.settings,
): Promise<{ exitCode: number; out: string }> {
  let out = '';
  const state = { exitCode: 0 };
  const shell = {
    out: async (text: string) => {
      out += text;
    },
    err: () => {},
    user: 'tests@host',
    openOperatorService: async () =>
      createOperatorService(at.database, {
        clock: at.clock,
        keyPrefix: 'sk-naru-',
        datasets,
        close: async () => {},
      }),
  } as Partial<CliContext> as CliContext;
  const program = new Command('naru').exitOverride().configureOutput({ writeErr: () => {} });
  addDatasetCommands(program, shell, state);
  await program.parseAsync(['dataset', 'sync', ...args], { from: 'user' });
  return { exitCode: state.exitCode, out };
}

test('one dataset is synced and its rows are counted; earlier data stays published', async () => {
  const { exitCode, out } = await run(['app-rankings', '--json']);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(out), { dataset: 'app-rankings', rows: 3, through: '2026-11-18', ok: true });
  assert.equal((await readAppPeriod(at.database, null))?.rows.length, 3);
  await at.another().syncDue();
  assert.equal(
    source.sent().filter((path) => /app-rankings.*offset=0/.test(path)).length,
    1,
    'the job need not do it again',
  );
});

test('an empty source is no failure and removes nothing', async () => {
  await run(['app-rankings']);
  source.upstream.always(
    reply.json({ data: [], meta: { as_of: null, start_date: '2026-11-18', end_date: '2026-11-18' } }),
  );
  const { exitCode, out } = await run(['app-rankings']);
  assert.equal(out, 'app-rankings: the source has no rows; earlier data stays published\n');
  assert.equal(exitCode, 0);
  assert.equal((await readAppPeriod(at.database, null))?.rows.length, 3);
});

test('a failure is reported with exit code 1', async () => {
  source.upstream.always(reply.status(401));
  const { exitCode, out } = await run(['app-rankings', '--json']);
  assert.equal(exitCode, 1);
  assert.deepEqual(JSON.parse(out), {
    dataset: 'app-rankings',
    reason: '/datasets/app-rankings: the source responded with 401: it rejects the sync key',
    ok: false,
  });
});

test('without a sync key and with an unknown name it reports an error', async () => {
  await assert.rejects(run([], { ...source.settings, syncKey: null }), OperatorError);
  await assert.rejects(run(['weather']), /Allowed choices are app-rankings, benchmarks, rankings-daily/);
});
