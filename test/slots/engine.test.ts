import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { dealOut } from '../../src/slots/build-slot.ts';
import type { SlotGrant, SlotLease } from '../../src/slots/slots.ts';
import { engineSlot, openSlots, tempDir } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

const me = () => ({ accountId: 1, coldWaitMs: 20_000, signal: new AbortController().signal });

function leased(response: SlotGrant): SlotLease {
  assert.ok(
    response.kind === 'lease',
    `loading, ${response.kind === 'loading' ? response.retryAfterSec : ''}`,
  );
  return response;
}

async function requestsOf({ baseUrl }: SlotLease): Promise<number> {
  return ((await (await fetch(`${baseUrl}/x`)).json()) as { requests: number }).requests;
}

/** A program that prints `file`, as nvidia-smi does. */
function nvidiaSmi(usedMb: number): { readonly program: string; readonly file: string } {
  const dir = tempDir();
  const [program, file] = [join(dir, 'nvidia-smi'), join(dir, 'used')];
  writeFileSync(file, `${usedMb}\n`);
  writeFileSync(program, `#!/bin/sh\ncat ${file}\n`);
  chmodSync(program, 0o755);
  return { program, file };
}

describe('an engine', { concurrency: 2 }, () => {
  test("with a warm-up completes one request of ours before the first client's", async (t) => {
    const slots = await openSlots(t, [
      engineSlot({}, { warmUpMs: 10_000 }),
      engineSlot({}, { name: 'local-b' }),
    ]);
    assert.equal(await requestsOf(leased(await slots.acquire('local-a', me()))), 2);
    assert.equal(await requestsOf(leased(await slots.acquire('local-b', me()))), 1);
  });

  test('that never ends its warm-up serves when the warm-up time is over', async (t) => {
    const slots = await openSlots(t, engineSlot({ exitAfter: 99, hangFrom: 1 }, { warmUpMs: 300 }));
    leased(await slots.acquire('local-a', me()));
    assert.equal(slots.status('local-a').state, 'READY');
  });

  test('leaves its memory to another slot only when nvidia-smi reports it free', async (t) => {
    const gpu = nvidiaSmi(1000);
    const share = { gpus: ['0'], vramMb: 6 };
    const both = [engineSlot({}, share), engineSlot({}, { ...share, name: 'local-b' })];
    const slots = await openSlots(t, both, { gpus: new Map([['0', 10]]), nvidiaSmi: gpu.program });
    const lease = leased(await slots.acquire('local-a', me()));
    writeFileSync(gpu.file, '9000\n');
    const next = slots.acquire('local-b', me());
    lease.release();
    await until('the engine is gone', () => slots.status('local-a').state === 'RECLAIMING');
    assert.deepEqual([slots.status('local-b').state, slots.status('local-b').pid], ['ADMITTING', null]);
    writeFileSync(gpu.file, '1100\n');
    leased(await next);
  });

  test('of each replica has its own GPUs and directory', async (t) => {
    const dataDir = tempDir();
    const { driver } = engineSlot();
    assert.ok(driver.kind === 'process');
    const env = { ...driver.env, CUDA_VISIBLE_DEVICES: '0,1' };
    const two = engineSlot({}, { gpus: ['0', '1'], replicas: 2, driver: { ...driver, env } });
    const slots = await openSlots(t, two, { dataDir });
    const leases = await Promise.all([1, 2].map(() => slots.acquire('local-a', me())));
    assert.equal(new Set(leases.map((lease) => leased(lease).baseUrl)).size, 2);
    const { replicas, inFlight, starts } = slots.status('local-a');
    assert.deepEqual(
      replicas.map(({ name, inFlight: own }) => [name, own]),
      [
        ['local-a#1', 1],
        ['local-a#2', 1],
      ],
    );
    assert.deepEqual([inFlight, starts], [2, 2]);
    const visible = replicas.map(
      ({ pid }) => /CUDA_VISIBLE_DEVICES=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1],
    );
    assert.deepEqual(visible, ['0', '1']);
  });

  test('GPUs are distributed evenly, or shared if there are too few', () => {
    assert.deepEqual(dealOut(['0', '1', '2', '3'], 2), [
      ['0', '1'],
      ['2', '3'],
    ]);
    assert.deepEqual(dealOut(['0', '1', '2'], 2), [['0', '1'], ['2']]);
    assert.deepEqual(dealOut(['0'], 3), [['0'], ['0'], ['0']]);
    assert.deepEqual(dealOut([], 2), [[], []]);
  });
});
