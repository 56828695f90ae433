import { keyBytesOf, keyForm } from './backup-key.ts';
import { integer, object, secret, shaped, text, withDefault } from './fields.ts';

const schedule = object('When it runs, in Korean time (KST).', {
  every_hours: withDefault(integer('The hours between two runs.', 1, 720), '24'),
  at: withDefault(
    shaped(
      'The time of day of one run, from which the others follow.',
      /^([01]\d|2[0-3]):[0-5]\d$/,
      'must be a time of day from 00:00 to 23:59, such as 03:00',
    ),
    '03:00',
  ),
});

/** Scheduled backups. */
export const backup = object('Backups: when they are made, where they are kept, and for how long.', {
  schedule: schedule.optional(),
  directory: text('The folder for backups, relative to the configuration file.').optional(),
  keep: object('Which backups stay. The newest good one is never removed.', {
    count: withDefault(integer('So many of the newest stay.', 1, 10_000), '14'),
    age_days: integer('All that are younger stay too.', 1, 3650).optional(),
  }).prefault({}),
  encryption_key: secret(
    'The key that encrypts backups: 32 bytes, as 64 hex digits or as base64. Keep a copy elsewhere: without it no backup can be restored.',
    (value) => (keyBytesOf(value) === null ? keyForm : null),
  ).optional(),
  max_age_hours: integer(
    'The alarm fires when the last good backup is older; by default two hours more than `schedule.every_hours`.',
    1,
    8760,
  ).optional(),
});
