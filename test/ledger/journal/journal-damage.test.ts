import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { systemDisk } from '../../../src/ledger/journal/disk.ts';
import type { JournalEvent } from '../../../src/ledger/journal/errors.ts';
import { readSegment } from '../../../src/ledger/journal/replay.ts';
import { segmentOf } from '../../../src/ledger/journal/segment.ts';
import { check } from '../../harness/property.ts';
import { files, journalDir, openJournal, texts } from './journal-harness.ts';

const name = '0000000001.journal';
const segmentBytes = 12 * 1024;
const recordsAt = 8192;

/** The bytes of a segment with these records, as a journal wrote it. */
async function written(
  t: TestContext,
  payloads: readonly (string | Buffer)[],
): Promise<{ dir: string; bytes: Buffer }> {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, segmentBytes });
  for (const payload of payloads) journal.append(1, payload);
  await journal.close();
  assert.deepEqual(files(dir), [name]);
  return { dir, bytes: readFileSync(join(dir, name)) };
}

/** The replay of a segment with these bytes. */
function read(dir: string, bytes: Buffer): { found: string[]; events: JournalEvent[] } {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  const events: JournalEvent[] = [];
  const segment = segmentOf({ number: 1, salt: 0, owner: null }, path, bytes.length, 'old');
  return { found: texts(readSegment(systemDisk, segment, (event) => events.push(event))), events };
}

const payloads = ['one', '', 'three 셋', 'x'.repeat(90), 'five', '', '7'];
const sizes = payloads.map((payload) => 9 + Buffer.byteLength(payload));
const starts = sizes.map((_, index) => sizes.slice(0, index).reduce((sum, size) => sum + size, recordsAt));
const end = sizes.reduce((sum, size) => sum + size, recordsAt);

test('a segment cut at any byte replays exactly the records before the cut', async (t) => {
  const { dir, bytes } = await written(t, payloads);
  for (let cut = 0; cut <= bytes.length; cut++) {
    // The empty space between the headers is all alike.
    if (cut > 64 && cut < recordsAt - 64 && Math.abs(cut - 4096) > 64) continue;
    const { found, events } = read(dir, bytes.subarray(0, cut));
    const whole = starts.filter((start, index) => start + (sizes[index] ?? 0) <= cut).length;
    assert.deepEqual(found, payloads.slice(0, whole), `cut at ${cut}`);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      cut === bytes.length ? [] : ['damaged'],
      `cut at ${cut}: a file shorter than it was made is part of a copy`,
    );
  }
});

test('any flipped byte loses at most its own record, and is reported', async (t) => {
  const { dir, bytes } = await written(t, payloads);
  for (let at = recordsAt; at < end + 20; at++) {
    for (const flip of [1, 2, 4, 8, 16, 32, 64, 128, 255]) {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ flip;
      const { found, events } = read(dir, copy);
      const hit = at < end ? starts.findLastIndex((start) => start <= at) : payloads.length;
      assert.deepEqual(found, payloads.toSpliced(hit, 1), `byte ${at} ^ ${flip}`);
      const kind = hit < payloads.length - 1 ? 'damaged' : 'torn';
      assert.deepEqual(
        events.map((event) => event.kind),
        [kind],
        `byte ${at} ^ ${flip}`,
      );
    }
  }
});

test('one damaged header is tolerated; without both, the whole segment is reported', async (t) => {
  const { dir, bytes } = await written(t, payloads);
  for (const headers of [[0], [4096]]) {
    for (let byte = 0; byte < 56; byte++) {
      const copy = Buffer.from(bytes);
      for (const header of headers) copy[header + byte] = (copy[header + byte] ?? 0) ^ 0x10;
      assert.deepEqual(read(dir, copy), { found: payloads, events: [] });
    }
  }
  const copy = Buffer.from(bytes).fill(0, 0, 8192);
  assert.deepEqual(read(dir, copy), {
    found: [],
    events: [{ kind: 'damaged', segment: 1, offset: 0, bytes: end }],
  });
});

test("a segment under another segment's name is not replayed", async (t) => {
  const { dir, bytes } = await written(t, payloads);
  const path = join(dir, '0000000002.journal');
  writeFileSync(path, bytes);
  const events: JournalEvent[] = [];
  const segment = segmentOf({ number: 2, salt: 0, owner: null }, path, bytes.length, 'old');
  assert.deepEqual(texts(readSegment(systemDisk, segment, (event) => events.push(event))), []);
  assert.equal(events[0]?.kind, 'damaged');
});

test('replay of damaged bytes returns only appended records, in order', async (t) => {
  const many = Array.from({ length: 60 }, (_, index) => `${index}:${'y'.repeat(index)}`);
  const { dir, bytes } = await written(t, many);
  const patch = fc.record({
    at: fc.integer({ min: 0, max: bytes.length - 1 }),
    put: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc
        .tuple(fc.nat(bytes.length - 1), fc.nat(600))
        .map(([from, length]) => bytes.subarray(from, from + length)),
    ),
  });
  check(
    fc.property(fc.array(patch, { minLength: 1, maxLength: 5 }), (patches) => {
      const copy = Buffer.from(bytes);
      for (const { at, put } of patches) copy.set(put.subarray(0, copy.length - at), at);
      const { found, events } = read(dir, copy);
      let next = 0;
      for (const text of found) {
        next = many.indexOf(text, next) + 1;
        assert.notEqual(next, 0, `${text} was not appended there`);
      }
      if (found.length === many.length || events.length > 0) return;
      // Zeros over the last records, to the end, are the one undetectable loss: they look like
      // records never written.
      assert.deepEqual(found, many.slice(0, found.length));
      const kept = many.slice(0, found.length).reduce((sum, text) => sum + 9 + text.length, recordsAt);
      assert.ok(copy.subarray(kept).every((byte) => byte === 0));
    }),
    { numRuns: 1500 },
  );
});

test('a payload that imitates records creates none, even when its own record is damaged', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, segmentBytes });
  await journal.durable(journal.append(1, 'genuine'));
  const frame = readFileSync(join(dir, name)).subarray(recordsAt, recordsAt + 16);
  journal.append(1, Buffer.concat([frame, frame, frame]));
  journal.append(1, 'last');
  await journal.close();
  const bytes = readFileSync(join(dir, name));
  bytes[recordsAt + 16] = (bytes[recordsAt + 16] ?? 0) ^ 1;
  const { found, events } = read(dir, bytes);
  assert.deepEqual(found, ['genuine', 'last']);
  assert.deepEqual(events, [{ kind: 'damaged', segment: 1, offset: recordsAt + 16, bytes: 57 }]);
});

test('a lost page is reported by offset and size, the rest is recovered, and the file is kept', async (t) => {
  const many = Array.from({ length: 30 }, (_, index) => String(index).padStart(91, '.'));
  const { dir, bytes } = await written(t, many);
  writeFileSync(join(dir, name), bytes.fill(0, recordsAt + 1000, recordsAt + 1500));
  const { journal, events } = await openJournal(t, { dir });
  const found: string[] = [];
  for (const record of journal.replay()) {
    found.push(record.payload.toString());
    journal.release(record.ticket);
  }
  assert.deepEqual(found, many.toSpliced(10, 5));
  assert.deepEqual(events, [{ kind: 'damaged', segment: 1, offset: recordsAt + 1000, bytes: 500 }]);
  await journal.close();
  assert.deepEqual(files(dir), ['0000000001.damaged']);
  const again = await openJournal(t, { dir });
  assert.deepEqual(texts(again.journal.replay()), []);
  assert.deepEqual(again.events, []);
  assert.ok(files(dir).includes('0000000003.journal') || files(dir).includes('0000000002.journal'));
});

test('an unreadable segment is reported and kept, and the others are replayed', async (t) => {
  const { dir } = await written(t, payloads);
  mkdirSync(join(dir, '0000000000.journal'));
  const { journal, events } = await openJournal(t, { dir });
  assert.deepEqual(texts(journal.replay()), payloads);
  assert.equal(events[0]?.kind, 'damaged');
  await journal.close();
  assert.deepEqual(files(dir), ['0000000000.damaged', name]);
});
