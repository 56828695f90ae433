/**
 * Write access to the configuration means running commands as Naru's user: the operator is warned
 * when another user has it.
 */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { rightsFaults } from '../../src/config/permissions.ts';
import { createInstallation } from '../cli/naru.ts';

// security:11
test('config check and doctor warn of a configuration file or directory that others may write', async (t) => {
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({});
  const uid = process.getuid?.() ?? -1;
  chmodSync(file, 0o640);
  const check = () => installation.json('config', 'check', '--config', file);
  const clean = await check();
  assert.deepEqual([clean.code, clean.rows[0].warnings, clean.err], [0, [], '']);

  for (const [path, mode] of [
    [file, 0o666],
    [dirname(file), 0o777],
  ] as const) {
    chmodSync(path, mode);
    const { code, rows, err } = await check();
    assert.equal(code, 0, 'the file can be used all the same');
    assert.equal(rows[0].warnings.length, 1);
    assert.match(rows[0].warnings[0], /is writable by every user, .*chmod go-w/);
    assert.ok(rows[0].warnings[0].startsWith(path));
    assert.match(err, /^naru: warning: .*\n$/);
    const doctor = await installation.json('doctor', '--config', file);
    assert.ok(doctor.rows.some(({ check, ok }) => check === 'configuration rights' && !ok));
    chmodSync(path, path === file ? 0o640 : 0o755);
  }

  const sticky = join(installation.folder, 'sticky');
  mkdirSync(sticky);
  chmodSync(sticky, 0o1777);
  chmodSync(file, 0o640);
  assert.deepEqual(rightsFaults(file, uid), []);
  assert.deepEqual(rightsFaults(join(installation.folder, 'none.yaml'), uid), []);
});

// security:11
test('a configuration of a foreign group or user causes a warning', {
  skip: process.getuid?.() !== 0,
}, (t) => {
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({});
  chmodSync(file, 0o664);
  assert.deepEqual(rightsFaults(file, 0), [], "the group of root's own");
  chownSync(file, 0, 12_345);
  assert.match(rightsFaults(file, 0).join(), /is writable by group 12345/);
  chownSync(file, 4_321, 4_321);
  assert.match(rightsFaults(file, 1_000).join(), /is owned by user 4321/);
  assert.deepEqual(rightsFaults(file, 4_321), []);
});
