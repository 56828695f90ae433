/**
 * Appends until killed: `node journal-child.ts <dir>`. Prints `d <n>` when record n is durable and
 * `w <n>` when its turn has ended.
 */
import { setImmediate } from 'node:timers/promises';
import { Journal } from '../../../src/ledger/journal/journal.ts';
import { FINAL, OPEN } from '../../../src/ledger/journal/record.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { smallSegment } from './journal-harness.ts';

const journal = await Journal.open({
  dir: process.argv[2] ?? '',
  clock: systemClock,
  segmentBytes: smallSegment,
});
const text = (index: number): string => String(index).padStart(50 + (index % 300), '.');
for (let index = 0; ; index += 2) {
  const opened = journal.append(OPEN, text(index));
  if (index % 10 === 0) {
    await setImmediate();
    await setImmediate();
    process.stdout.write(`w ${index}\n`);
  }
  const final = journal.append(FINAL, text(index + 1));
  await journal.durable(final);
  await journal.durable(opened);
  process.stdout.write(`d ${index + 1}\n`);
}
