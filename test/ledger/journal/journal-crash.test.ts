import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { between, randomFrom } from '../../chaos/orders.ts';
import { sampledRange, testSeed } from '../../harness/tier.ts';
import { journalDir, openJournal, texts } from './journal-harness.ts';

const child = fileURLToPath(new URL('journal-child.ts', import.meta.url));

for (const trial of sampledRange(0, 10, 4)) {
  test(`kill -9, trial ${trial}: every record reported durable or written is replayed, once and in order`, async (t) => {
    const dir = journalDir(t);
    const process_ = spawn(process.execPath, [child, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => process_.kill('SIGKILL'));
    const ended = once(process_, 'exit');
    const reported = new Set<number>();
    const enough = 5 + trial * 83 + between(randomFrom(testSeed + trial), 0, 39);
    for await (const line of createInterface({ input: process_.stdout })) {
      reported.add(Number(line.slice(2)));
      if (reported.size === enough) process_.kill('SIGKILL');
    }
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    assert.ok(reported.size >= enough);

    const { journal, events } = await openJournal(t, { dir });
    const found = texts(journal.replay()).map((text) => Number(text.replaceAll('.', '')));
    assert.deepEqual(
      found,
      Array.from({ length: found.length }, (_, index) => index),
    );
    for (const index of reported) assert.ok(index < found.length, `${index} of ${found.length} is lost`);
    assert.ok(
      events.every((event) => event.kind === 'torn'),
      JSON.stringify(events),
    );
  });
}
