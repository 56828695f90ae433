import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { byTier, testSeed } from '../harness/tier.ts';
import { mutated } from './mutate.ts';
import { mutations } from './mutations.ts';

/** The first world: the full tier has new ones at every run. */
const from = String(testSeed);

/**
 * In a separate process: the test runner tracks every promise, which makes a simulation take three
 * times as long.
 */
async function simulateWith(t: TestContext, args: readonly string[]): Promise<void> {
  const { code, output } = await new Promise<{ readonly code: unknown; readonly output: string }>(
    (resolve) => {
      execFile(process.execPath, [join(import.meta.dirname, 'sim.ts'), ...args], (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, output: stdout + stderr }),
      );
    },
  );
  for (const line of output.trimEnd().split('\n')) t.diagnostic(line);
  assert.equal(code, 0, output);
  assert.match(output, /\d+ checks$/m);
}

test('simulated worlds keep every promise about money under all faults, and the same seed is the same world', (t) =>
  simulateWith(
    t,
    byTier(
      ['--seeds', '4', '--steps', '1200', '--twice', '1'],
      ['--from', from, '--seeds', '200', '--steps', '2500'],
    ),
  ));

test('a process that dies before or after any commit or sync of a small world keeps every promise', (t) =>
  simulateWith(
    t,
    byTier(['--points', '--seeds', '1', '--steps', '150'], ['--points', '--from', from, '--seeds', '3']),
  ));

test('every mutation that the simulator must find still applies', () => {
  assert.ok(mutations.length >= 12);
  for (const mutation of mutations)
    assert.doesNotThrow(() =>
      mutated(readFileSync(join(import.meta.dirname, '../..', mutation.file), 'utf8'), mutation),
    );
});
