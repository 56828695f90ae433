import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryRelease } from '../../src/app/release-memory.ts';
import { MemoryBudget } from '../../src/memory/budget.ts';
import { until } from '../harness/until.ts';

const mb = 1024 * 1024;

function budgetOf(): MemoryBudget {
  const limit = 1024 * mb;
  return new MemoryBudget(() => ({ totalBytes: limit, clientBytes: limit }), { monotonic: () => 0 });
}

test('memory is collected once after each burst of large requests', () => {
  const budget = budgetOf();
  let collected = 0;
  const release = new MemoryRelease(budget, () => (collected += 1));
  release.check();
  for (let burst = 1; burst <= 2; burst += 1) {
    const claim = budget.claim(() => {});
    claim.setBytes('body', 40 * mb);
    release.check();
    release.check();
    claim.release();
    // It still used that much since the last check.
    release.check();
    assert.equal(collected, burst - 1);
    release.check();
    release.check();
    assert.equal(collected, burst);
  }
  budget.claim(() => {}).setBytes('body', 10 * mb);
  release.check();
  release.check();
  assert.equal(collected, 2, 'small requests leave nothing worth it');
});

/** Unreferenced objects. */
function fill(): number {
  return Array.from({ length: 8 }, () => Buffer.alloc(20 * mb, 1)).length;
}

test('a collection returns unreferenced memory', { timeout: 20_000 }, async () => {
  const budget = budgetOf();
  const release = new MemoryRelease(budget);
  fill();
  const claim = budget.claim(() => {});
  claim.setBytes('body', 160 * mb);
  release.check();
  claim.release();
  const before = process.memoryUsage().arrayBuffers;
  release.check();
  release.check();
  // Blocks are freed beside this thread.
  const kept = Math.max(before - 100 * mb, 20 * mb);
  await until('the release of the blocks', () => process.memoryUsage().arrayBuffers <= kept);
  assert.equal((globalThis as { gc?: unknown }).gc, undefined);
});

test('garbage that the budget did not count is collected once, when no more of it arrives', () => {
  let collected = 0;
  const release = new MemoryRelease(budgetOf(), () => (collected += 1));
  release.noteGarbage();
  release.check();
  release.noteGarbage();
  release.check();
  assert.equal(collected, 0);
  release.check();
  release.check();
  assert.equal(collected, 1);
});
