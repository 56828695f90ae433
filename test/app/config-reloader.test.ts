import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConfigReloader } from '../../src/app/config-reloader.ts';
import { checkAsync } from '../harness/property.ts';

test('reloads run one at a time, and the last one starts after every request for one', async () => {
  const steps = fc.array(fc.constantFrom('request', 'request', 'finish'), { maxLength: 30 });
  await checkAsync(
    fc.asyncProperty(steps, fc.nat(5), async (orders, beginAt) => {
      const running: (() => void)[] = [];
      let calls = 0;
      let seen = 0;
      let most = 0;
      const reloading = new ConfigReloader(async (_subject: string, reasons: readonly number[]) => {
        seen = reasons.at(-1) ?? 0;
        await new Promise<void>((resolve) => {
          running.push(resolve);
          most = Math.max(most, running.length);
        });
      });
      const finish = async (): Promise<void> => {
        running.shift()?.();
        // As many turns as already settled promises take.
        for (let turn = 0; turn < 5; turn += 1) await null;
      };
      for (const [index, order] of orders.entries()) {
        if (index === beginAt) reloading.begin('it');
        if (order === 'finish') await finish();
        else {
          calls += 1;
          reloading.request(calls);
        }
      }
      reloading.begin('it');
      for (let left = 0; left < 3; left += 1) await finish();
      assert.equal(seen, calls);
      assert.ok(most <= 1, `${most} at once`);
      assert.equal(running.length, 0);
    }),
    { numRuns: 200 },
  );
});

test('no reload runs before there is a configuration, or after the end', async () => {
  const reloaded: (string | boolean)[][] = [];
  const reloading = new ConfigReloader(async (_subject: string, reasons: readonly string[], wasRequested) => {
    reloaded.push([...reasons, wasRequested]);
  });
  reloading.request('one');
  reloading.request('two');
  assert.deepEqual(reloaded, []);
  reloading.begin('it');
  assert.deepEqual(reloaded, [['one', 'two', true]]);
  await reloading.end();
  reloading.request('three');
  assert.deepEqual(reloaded, [['one', 'two', true]]);
});
