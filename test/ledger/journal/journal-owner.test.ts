import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FINAL } from '../../../src/ledger/journal/record.ts';
import { files, journalDir, openJournal, texts } from './journal-harness.ts';

const owner = { database: randomUUID(), home: randomUUID() };
const name = '0000000001.journal';

/** A journal with one segment of `owner`, which has one record. */
async function left(t: TestContext): Promise<string> {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, owner });
  await journal.durable(journal.append(FINAL, 'a charge'));
  await journal.close();
  assert.deepEqual(files(dir), [name]);
  return dir;
}

for (const [what, other] of [
  ['database', { ...owner, database: randomUUID() }],
  ['node', { ...owner, home: randomUUID() }],
] as const) {
  test(`a segment of another ${what} is set aside unchanged, reported, and counted until it is removed`, async (t) => {
    const dir = await left(t);
    const bytes = readFileSync(join(dir, name));
    const { journal, events } = await openJournal(t, { dir, owner: other });
    assert.deepEqual(texts(journal.replay()), []);
    assert.deepEqual(events, [{ kind: 'foreign', segment: 1, ...owner }]);
    assert.equal(journal.stats().foreign, 1);
    const own = journal.append(FINAL, 'a charge of its own');
    await journal.durable(own);
    await journal.close();
    assert.deepEqual(files(dir), ['0000000001.foreign', '0000000002.journal']);
    assert.deepEqual(readFileSync(join(dir, '0000000001.foreign')), bytes);
    const again = await openJournal(t, { dir, owner: other });
    assert.deepEqual(texts(again.journal.replay()), ['a charge of its own']);
    assert.deepEqual([again.events, again.journal.stats().foreign], [[], 1]);
  });
}

test('either header of a segment identifies its owner', async (t) => {
  for (const damaged of [0, 4096]) {
    const dir = await left(t);
    const bytes = readFileSync(join(dir, name)).fill(0xff, damaged, damaged + 64);
    writeFileSync(join(dir, name), bytes);
    const { journal, events } = await openJournal(t, { dir, owner: { ...owner, database: randomUUID() } });
    assert.deepEqual(texts(journal.replay()), []);
    assert.equal(events[0]?.kind, 'foreign');
  }
});

test("the journal's own segments and those without an owner are replayed", async (t) => {
  const own = await left(t);
  assert.deepEqual(texts((await openJournal(t, { dir: own, owner })).journal.replay()), ['a charge']);
  const unowned = journalDir(t);
  const { journal } = await openJournal(t, { dir: unowned });
  await journal.durable(journal.append(FINAL, 'whose'));
  await journal.close();
  assert.deepEqual(texts((await openJournal(t, { dir: unowned, owner })).journal.replay()), ['whose']);
});
