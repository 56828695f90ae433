import { isBackupKey, keyForm } from './backup-key.ts';
import { checked, flag, integer, object, optional, secret, shaped, text, withDefault } from './fields.ts';
import { httpUrl } from './validators.ts';

/** Runs at fixed times. */
function schedule(description: string, everyHours: string) {
  return object(description, {
    every_hours: withDefault(integer('The hours between two runs.', 1, 720), everyHours),
    at: withDefault(
      shaped(
        'The time of day of one run, from which the others follow.',
        /^([01]\d|2[0-3]):[0-5]\d$/,
        'must be a time of day from 00:00 to 23:59, such as 03:00',
      ),
      '03:00',
    ),
  }).transform(({ everyHours, at }) => ({
    everyHours,
    /** The time of one run, in minutes after midnight in Seoul. */
    atMinute: Number(at.slice(0, 2)) * 60 + Number(at.slice(3)),
  }));
}

const s3 = object('A bucket of S3 or of a compatible store, for backups.', {
  endpoint: checked('The root of the store, such as https://s3.ap-northeast-2.amazonaws.com.', httpUrl),
  region: withDefault(
    shaped(
      'The region that requests are signed for.',
      /^[A-Za-z0-9-]{1,64}$/,
      'must be a name such as us-east-1',
    ),
    'us-east-1',
  ),
  bucket: shaped(
    'The bucket, which exists already.',
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    'must be 3 to 63 lower-case letters, digits, dots and dashes',
  ),
  prefix: withDefault(
    shaped(
      'The folder in the bucket. Nothing else is read or removed.',
      /^(?=.{1,200}$)[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/,
      'must be letters, digits, dots, dashes and _, in parts separated by /',
    ),
    'naru',
  ),
  access_key_id: secret('The access key; it needs to list, read, write and delete below `prefix`.'),
  secret_access_key: secret('The secret of the access key.'),
  path_style: withDefault(
    flag('Whether the bucket is in the path of the URL, as most stores have it, or in its host name.'),
    'true',
  ),
  allow_http: withDefault(
    flag('Whether `endpoint` may be http:// beyond this machine. Encrypt the backups then.'),
    'false',
  ),
});

/** Scheduled backups. */
export const backup = object('Backups: when they are made, where they are kept, and for how long.', {
  schedule: optional(schedule('When it runs, in Korean time (KST).', '24')),
  directory: optional(text('The folder for backups, relative to the configuration file.')),
  s3: optional(s3),
  drill: optional(
    object(
      'A drill restores the newest backup into a PostgreSQL server of its own, which it removes again, and verifies the ledger.',
      {
        schedule: schedule('When it runs, in Korean time (KST); 168 hours: each Thursday.', '168').prefault(
          {},
        ),
      },
    ),
  ),
  keep: object('Which backups stay. The newest good one is never removed.', {
    count: withDefault(integer('So many of the newest stay.', 1, 10_000), '14'),
    age_days: optional(integer('All that are younger stay too.', 1, 3650)),
  }).prefault({}),
  encryption_key: optional(
    secret(
      'The key that encrypts backups: an age identity (AGE-SECRET-KEY-1…), as `naru backup new-key` prints it. Keep a copy elsewhere: without it no backup can be restored.',
      (value) => (isBackupKey(value) ? null : keyForm),
    ),
  ),
  max_age_hours: optional(
    integer(
      'The alarm fires when the last good backup is older; by default two hours more than `schedule.every_hours`.',
      1,
      8760,
    ),
  ),
}).transform((backup) => ({
  ...backup,
  maxAgeHours: backup.schedule === null ? null : (backup.maxAgeHours ?? backup.schedule.everyHours + 2),
}));
