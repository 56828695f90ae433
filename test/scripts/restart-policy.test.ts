import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RestartPolicy } from '../../scripts/restart-policy.mjs';

test('a server that crashes is restarted at once, then less and less often, and after ten in a row not at all', () => {
  const policy = new RestartPolicy();
  const delays = Array.from({ length: 11 }, () => policy.ended({ code: 70, servedMs: 1_000 }));
  assert.deepEqual(delays, [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, null]);
});

test('half a minute of service resets the count of crashes', () => {
  const policy = new RestartPolicy();
  for (let n = 0; n < 5; n += 1) policy.ended({ code: null, servedMs: 10 });
  assert.equal(policy.ended({ code: null, servedMs: 30_000 }), 0);
});

test('a process that ended in order, and a first start that failed, are not restarted', () => {
  assert.equal(new RestartPolicy().ended({ code: 0, servedMs: 1_000 }), null);
  assert.equal(new RestartPolicy().ended({ code: 1, servedMs: null }), null);
  assert.equal(new RestartPolicy().ended({ code: null, servedMs: null }), null);
  assert.equal(new RestartPolicy().ended({ code: 1, servedMs: 1_000 }), null);
});

test('a restart that fails is retried: its cause may be temporary', () => {
  const policy = new RestartPolicy();
  assert.equal(policy.ended({ code: 70, servedMs: 1_000 }), 0);
  assert.equal(policy.ended({ code: 1, servedMs: null }), 250);
  assert.equal(policy.ended({ code: 1, servedMs: null }), 500);
});
