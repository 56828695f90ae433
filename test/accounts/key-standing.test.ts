import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyRow } from '../../src/accounts/keys-sql.ts';
import { isDisabled, keyStandings, standingOf } from '../../src/accounts/rules.ts';

const nowMs = 1_000;
const active = { revokedAtMs: null, adminSuspended: false, userDisabled: false, expiresAtMs: null } as KeyRow;

/** What gives a key each standing but `active`. */
const causes: Readonly<Record<string, Partial<KeyRow>>> = {
  revoked: { revokedAtMs: 1 },
  suspended_by_admin: { adminSuspended: true },
  expired: { expiresAtMs: nowMs },
  switched_off: { userDisabled: true },
  suspended_no_credit: {},
};

// spec:api/8.1
test('of several states a key shows the strongest', () => {
  const names = Object.keys(causes);
  assert.deepEqual([...names, 'active'], [...keyStandings]);
  for (let mask = 0; mask < 2 ** names.length; mask += 1) {
    const applied = names.filter((_, at) => (mask >> at) % 2 === 1);
    const row = Object.assign({}, active, ...applied.map((name) => causes[name])) as KeyRow;
    const balance = applied.includes('suspended_no_credit') ? 0n : 1n;
    assert.equal(standingOf(row, balance, nowMs), applied[0] ?? 'active', applied.join(' and '));
    const disabling = applied.filter((name) => name !== 'expired');
    assert.equal(isDisabled(row, balance <= 0n), disabling.length > 0, applied.join(' and '));
  }
  assert.equal(standingOf({ ...active, expiresAtMs: nowMs + 1 }, 1n, nowMs), 'active');
});
