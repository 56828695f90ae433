import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { JournalUnavailable } from '../../../src/ledger/journal/errors.ts';
import type { Ticket } from '../../../src/ledger/journal/journal.ts';
import { FINAL, OPEN } from '../../../src/ledger/journal/record.ts';
import { until } from '../../harness/until.ts';
import { files, journalDir, openJournal, smallSegment, texts } from './journal-harness.ts';

const unavailable = (reason: string) => (error: unknown) => {
  assert.ok(error instanceof JournalUnavailable);
  assert.equal(error.reason, reason);
  return true;
};

test('every kind of payload is replayed byte for byte, in order, with its type', async (t) => {
  const dir = journalDir(t);
  const mebibyte = Buffer.alloc(1024 * 1024, 0x5a);
  const payloads = [
    '',
    Buffer.alloc(0),
    'a',
    '나루 🚢',
    Buffer.alloc(700),
    mebibyte,
    '가'.repeat(300_000),
    'last\u0000',
  ];
  const first = await openJournal(t, { dir, segmentBytes: 4 * 1024 * 1024 });
  const types = payloads.map((_, index) => (index * 51) % 256);
  for (const [index, payload] of payloads.entries()) first.journal.append(types[index] ?? 0, payload);
  await first.journal.close();
  const { journal, events } = await openJournal(t, { dir });
  const found = [...journal.replay()];
  assert.deepEqual(
    found.map((record) => record.type),
    types,
  );
  assert.deepEqual(
    found.map((record) => record.payload),
    payloads.map((payload) => Buffer.from(payload as string)),
  );
  assert.deepEqual(events, []);
});

test('a record larger than a segment is rejected, and leaves no trace', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir });
  const largest = smallSegment - 8192 - 9;
  assert.throws(() => journal.append(FINAL, Buffer.alloc(largest + 1)), RangeError);
  assert.throws(() => journal.append(FINAL, '가'.repeat(largest / 3 + 1)), RangeError);
  assert.throws(() => journal.append(256, 'x'), RangeError);
  assert.throws(() => journal.append(1.5, 'x'), RangeError);
  await journal.durable(journal.append(FINAL, 'before'));
  await journal.durable(journal.append(FINAL, Buffer.alloc(largest, 'x')));
  journal.append(FINAL, 'after');
  await journal.close();
  const again = await openJournal(t, { dir });
  assert.deepEqual(texts(again.journal.replay()), ['before', 'x'.repeat(largest), 'after']);
});

test('the directory is 0700 and its files are 0600, also if they were not before', async (t) => {
  const dir = journalDir(t);
  mkdirSync(dir, { mode: 0o755 });
  chmodSync(dir, 0o755);
  const { journal } = await openJournal(t, { dir });
  journal.append(OPEN, 'x');
  await until('a spare segment', () => files(dir).filter((name) => name.endsWith('.journal')).length === 2);
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  for (const name of files(dir)) assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600);
});

test('a segment has all its bytes on the disk before its first record', async (t) => {
  const dir = journalDir(t);
  await openJournal(t, { dir });
  const stat = statSync(join(dir, '0000000001.journal'));
  assert.equal(stat.size, smallSegment);
  assert.ok(stat.blocks * 512 >= smallSegment, `${stat.blocks} blocks`);
});

test('records are written in one call at the end of the turn, without a request to sync', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir });
  journal.append(OPEN, 'first');
  await Promise.resolve().then(() => journal.append(OPEN, 'second'));
  await new Promise(setImmediate);
  const bytes = readFileSync(join(dir, '0000000001.journal')).toString('latin1');
  assert.ok(bytes.includes('first') && bytes.includes('second'));
  assert.deepEqual([journal.stats().writes, journal.stats().syncs], [1, 0]);
});

test('callers during a sync share the next one', async (t) => {
  const { journal } = await openJournal(t, { dir: journalDir(t) });
  const first = journal.durable(journal.append(FINAL, 'first'));
  await new Promise(setImmediate);
  assert.equal(journal.stats().syncs, 1);
  const second = Array.from({ length: 100 }, (_, index) =>
    journal.durable(journal.append(FINAL, `${index}`)),
  );
  await Promise.all([first, ...second]);
  assert.deepEqual([journal.stats().writes, journal.stats().syncs, journal.stats().appended], [2, 2, 101]);
});

test('a record that a sync has covered needs no other', async (t) => {
  const { journal } = await openJournal(t, { dir: journalDir(t) });
  const ticket = journal.append(FINAL, 'x');
  await Promise.all([journal.durable(ticket), journal.durable(ticket)]);
  await journal.durable(ticket);
  assert.equal(journal.stats().syncs, 1);
});

test('a segment is removed when the last of its records is released, wherever their other halves are', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir });
  const half = 'x'.repeat(7000);
  const pair = async (): Promise<Ticket> => {
    const ticket = journal.append(OPEN, half);
    await journal.durable(journal.append(OPEN, half));
    return ticket;
  };
  const tickets = [await pair(), await pair(), await pair()];
  const [first, second, third] = tickets as [Ticket, Ticket, Ticket];
  assert.equal(new Set(tickets).size, 3);
  assert.equal(journal.bytesSince(first) >= 2 * smallSegment, true);
  const kept = (): string[] => files(dir).filter((name) => name < '0000000004');
  journal.release(second);
  journal.release(first);
  assert.equal(kept().length, 3, 'half released');
  journal.release(second);
  await until('two kept segments', () => kept().length === 2);
  assert.deepEqual(kept(), ['0000000001.journal', '0000000003.journal']);
  journal.release(third);
  journal.release(third);
  await journal.durable(journal.append(FINAL, 'in the current segment, which stays'));
  assert.deepEqual(kept(), ['0000000001.journal', '0000000003.journal']);
  await journal.close();
  assert.deepEqual(files(dir), ['0000000001.journal', '0000000003.journal'], 'no spare segment is left');
  const again = await openJournal(t, { dir });
  assert.equal(
    texts(again.journal.replay()).length,
    5,
    'a segment is replayed whole, its released records too',
  );
});

test('a journal whose records are all released leaves an empty directory', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir });
  journal.release(journal.append(FINAL, 'x'));
  await journal.close();
  assert.deepEqual(files(dir), []);
});

test('a ticket is released once', async (t) => {
  const { journal } = await openJournal(t, { dir: journalDir(t) });
  const ticket = journal.append(FINAL, 'x');
  journal.release(ticket);
  assert.throws(() => journal.release(ticket), /no live record/);
  assert.throws(() => journal.release(77 as Ticket), /no live record/);
  await assert.rejects(journal.durable(ticket), /no live record/);
});

test('released replayed records are trimmed, and others are replayed again', async (t) => {
  const dir = journalDir(t);
  const wide = (index: number): string => String(index).padStart(6000, '.');
  const first = await openJournal(t, { dir });
  for (let index = 0; index < 6; index++)
    await first.journal.durable(first.journal.append(FINAL, wide(index)));
  await first.journal.close();
  assert.equal(files(dir).length, 3);

  const second = await openJournal(t, { dir });
  for (const record of second.journal.replay()) {
    const index = Number(record.payload.toString().replaceAll('.', ''));
    if (index < 4) second.journal.release(record.ticket);
    if (index === 2) second.journal.append(OPEN, 'meanwhile');
  }
  assert.throws(() => [...second.journal.replay()], /once/);
  await second.journal.close();

  const third = await openJournal(t, { dir });
  for (const record of third.journal.replay()) {
    assert.equal(record.payload.toString(), wide(4));
    third.journal.release(record.ticket);
    break;
  }
  await third.journal.close();

  const fourth = await openJournal(t, { dir });
  assert.deepEqual(
    texts(fourth.journal.replay()),
    [wide(4), wide(5), 'meanwhile'],
    'a walk cut short trims nothing',
  );
});

test('the journal never exceeds maxBytes, and continues when a segment is released', async (t) => {
  const dir = journalDir(t);
  const { journal, events } = await openJournal(t, { dir, maxBytes: 3 * smallSegment });
  const tickets: Ticket[] = [];
  const fill = async (): Promise<void> => {
    for (;;) {
      const ticket = journal.append(FINAL, Buffer.alloc(1000));
      tickets.push(ticket);
      await journal.durable(ticket);
    }
  };
  await assert.rejects(fill(), unavailable('full'));
  assert.equal(journal.stats().bytes, 3 * smallSegment);
  assert.equal(journal.stats().blocked, 'full');
  assert.deepEqual(events, [{ kind: 'blocked', reason: 'full' }]);
  await journal.close();

  const again = await openJournal(t, { dir, maxBytes: 3 * smallSegment });
  assert.throws(() => again.journal.append(FINAL, 'x'), unavailable('full'));
  let replayed = 0;
  for (const record of again.journal.replay()) {
    replayed += 1;
    again.journal.release(record.ticket);
  }
  assert.equal(replayed, tickets.length);
  await until('a write that succeeds', () => again.journal.stats().blocked === null);
  await again.journal.durable(again.journal.append(FINAL, 'x'));
  await until('a write that succeeds', () => again.journal.stats().blocked === null);
  // A segment that is created while others are still being deleted blocks once more, for a moment.
  const turns = again.events.length / 2;
  assert.ok(turns === 1 || turns === 2, `${turns}`);
  assert.deepEqual(
    again.events.map((event) => event.kind),
    Array.from({ length: turns }, () => ['blocked', 'unblocked']).flat(),
  );
});

test('records wait in memory for a new segment, up to the size of a segment', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir, segmentBytes: 1024 * 1024 });
  let appended = 0;
  let last: Ticket | undefined;
  // One turn: the second segment cannot be finished in the middle of it.
  assert.throws(() => {
    for (;;) {
      last = journal.append(FINAL, String(appended).padStart(1000, '.'));
      appended += 1;
    }
  }, unavailable('slow'));
  assert.ok(last !== undefined && appended > 1900);
  await journal.durable(last);
  await journal.close();
  const again = await openJournal(t, { dir });
  const found = texts(again.journal.replay()).map((text) => Number(text.replaceAll('.', '')));
  assert.deepEqual(
    found,
    Array.from({ length: appended }, (_, index) => index),
  );
});

test('a closed journal accepts no records, and those it accepted are durable', async (t) => {
  const dir = journalDir(t);
  const { journal } = await openJournal(t, { dir });
  journal.append(FINAL, 'x');
  await journal.close();
  await journal.close();
  assert.equal(journal.stats().syncs, 1);
  assert.throws(() => journal.append(FINAL, 'y'), unavailable('closed'));
});

test('incomplete records and foreign files are not replayed', async (t) => {
  const dir = journalDir(t);
  mkdirSync(dir);
  writeFileSync(join(dir, '0000000009.journal.new'), 'half a segment');
  writeFileSync(join(dir, 'notes.txt'), 'hello');
  const { journal } = await openJournal(t, { dir });
  assert.deepEqual(texts(journal.replay()), []);
  await journal.close();
  assert.deepEqual(files(dir), ['notes.txt']);
});
