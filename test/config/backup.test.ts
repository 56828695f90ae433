/** `backup:` of naru.yaml. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupKey } from '../harness/backup-keys.ts';
import { configOf, faultsOf } from './load-text.ts';

test('a schedule has defaults, its folder is relative to the file, and its key is a secret', () => {
  const { backup } = configOf(`backup: { schedule: {}, directory: backups, encryption_key: ${backupKey} }`);
  const { encryptionKey, directory, ...rest } = backup ?? assert.fail();
  assert.equal(encryptionKey?.reveal(), backupKey);
  assert.equal(directory, '/etc/naru/backups');
  assert.deepEqual(rest, {
    schedule: { everyHours: 24, atMinute: 180 },
    s3: null,
    drill: null,
    keep: { count: 14, ageDays: null },
    maxAgeHours: 26,
  });
  assert.equal(configOf('backup: { keep: { count: 3 } }').backup?.maxAgeHours, null);
  const drill = configOf('backup: { schedule: {}, directory: /b, drill: {} }').backup?.drill?.schedule;
  assert.deepEqual(drill, { everyHours: 168, atMinute: 180 });
  const six = configOf('backup: { schedule: { every_hours: 6, at: 23:59 }, directory: /b }').backup;
  assert.deepEqual([six?.schedule?.atMinute, six?.maxAgeHours], [1439, 8]);
});

test('faults of backups have their line and column, and never quote the key', () => {
  const faults = (text: string): string => faultsOf(`backup:\n  ${text}`).join('\n');
  assert.match(faults('schedule: { at: "24:00" }\n  directory: b'), /2:.*at: must be a time of day/s);
  assert.match(faults('schedule: { every_hours: 0 }\n  directory: b'), /every_hours: must be a whole number/);
  assert.match(faults('schedule: {}'), /2:.*: needs backup\.directory or backup\.s3/s);
  assert.match(faults('drill: {}'), /2:.*: needs backup\.schedule/s);
  assert.match(faults('keep: { count: 0 }'), /keep\.count: must be a whole number from 1/);
  const wrong = faults(`encryption_key: ${backupKey.slice(1)}`);
  assert.match(wrong, /2:.*encryption_key: must be an age identity/s);
  assert.doesNotMatch(wrong, new RegExp(backupKey.slice(1)));
});

const s3 =
  'endpoint: "https://s3.example", bucket: naru-backups, access_key_id: a, secret_access_key: s3cret';

test('a bucket has defaults, and needs encryption beyond this machine unless allowed', () => {
  const place = configOf(`backup: { s3: { ${s3} } }`).backup?.s3;
  const { accessKeyId, secretAccessKey, ...rest } = place ?? assert.fail();
  assert.deepEqual([accessKeyId.reveal(), secretAccessKey.reveal()], ['a', 's3cret']);
  assert.deepEqual(rest, {
    endpoint: 'https://s3.example',
    region: 'us-east-1',
    bucket: 'naru-backups',
    prefix: 'naru',
    pathStyle: true,
    allowHttp: false,
  });
  const plain = s3.replace('https:', 'http:');
  assert.match(
    faultsOf(`backup: { s3: { ${plain} } }`).join(),
    /endpoint: must begin with https.*allow_http/,
  );
  assert.deepEqual(faultsOf(`backup: { s3: { ${plain}, allow_http: true } }`), []);
  assert.deepEqual(faultsOf(`backup: { s3: { ${plain.replace('s3.example', '127.0.0.1:9000')} } }`), []);
  assert.match(faultsOf(`backup: { directory: b, s3: { ${s3} } }`).join(), /s3: cannot be beside/);
  assert.match(faultsOf(`backup: { s3: { ${s3}, prefix: /a/ } }`).join(), /prefix: must be letters/);
});
