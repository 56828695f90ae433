/** `backup:` of naru.yaml. */
import assert from 'node:assert/strict';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

const key = 'ab'.repeat(32);

test('a schedule has defaults, its folder is relative to the file, and its key is a secret', () => {
  const { backup } = configOf(`backup: { schedule: {}, directory: backups, encryption_key: ${key} }`);
  const { encryptionKey, place, ...rest } = backup ?? assert.fail();
  assert.equal(encryptionKey?.reveal(), key);
  assert.ok(place?.kind === 'folder');
  assert.equal(place.directory, resolve(join(dirname(place.directory), 'backups')));
  assert.deepEqual(rest, {
    schedule: { everyHours: 24, atMinute: 180 },
    keep: { count: 14, ageDays: null },
    maxAgeHours: 26,
  });
  assert.equal(configOf('backup: { keep: { count: 3 } }').backup?.maxAgeHours, null);
  const six = configOf('backup: { schedule: { every_hours: 6, at: 23:59 }, directory: /b }').backup;
  assert.deepEqual([six?.schedule?.atMinute, six?.maxAgeHours], [1439, 8]);
});

test('faults of backups have their line and column, and never quote the key', () => {
  const faults = (text: string): string => faultsOf(`backup:\n  ${text}`).join('\n');
  assert.match(faults('schedule: { at: "24:00" }\n  directory: b'), /2:.*at: must be a time of day/s);
  assert.match(faults('schedule: { every_hours: 0 }\n  directory: b'), /every_hours: must be a whole number/);
  assert.match(faults('schedule: {}'), /2:.*: needs backup\.directory/s);
  assert.match(faults('keep: { count: 0 }'), /keep\.count: must be a whole number from 1/);
  const wrong = faults(`encryption_key: ${key.slice(1)}`);
  assert.match(wrong, /2:.*encryption_key: must be 32 bytes, as 64 hex digits or as base64/s);
  assert.doesNotMatch(wrong, new RegExp(key.slice(1)));
});
