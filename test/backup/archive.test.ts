/** A table that cannot be written or read to its end fails with the cause, and without waiting. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { writeTable } from '../../src/backup/archive.ts';
import { folderFiles } from '../../src/backup/backup-files.ts';
import { BackupKey } from '../../src/backup/file-cipher.ts';
import { backupKey } from '../harness/backup-keys.ts';

const signal = new AbortController().signal;
let folder = '';

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'naru-archive-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** More rows than all buffers hold, and an error at their end if there is one. */
async function* chunks(error?: Error): AsyncGenerator<Buffer> {
  for (let n = 0; n < 40; n++) yield randomBytes(65_536);
  if (error !== undefined) throw error;
}

for (const how of ['plain', 'encrypted']) {
  const keyFor = async () => (how === 'plain' ? null : BackupKey.of(backupKey));
  test(`the disk's error fails a table and ends its reader: ${how}`, async () => {
    const dir = join(folder, `disk-${how}`);
    mkdirSync(join(dir, how === 'plain' ? 't.copy.gz.new' : 't.copy.gz.age.new'), { recursive: true });
    const rows = Readable.from(chunks());
    await assert.rejects(writeTable(folderFiles(dir), { name: 't', rows }, { key: await keyFor(), signal }), {
      code: 'EISDIR',
    });
    assert.ok(rows.destroyed);
  });

  test(`the database's error fails a table, which is not listed: ${how}`, async () => {
    const files = folderFiles(join(folder, `database-${how}`));
    const rows = Readable.from(chunks(new Error('the connection was lost')));
    await assert.rejects(writeTable(files, { name: 't', rows }, { key: await keyFor(), signal }), /was lost/);
    assert.deepEqual(await files.list(), []);
  });

  test(`a stop ends a table: ${how}`, async () => {
    const stop = new AbortController();
    const rows = Readable.from(
      (async function* () {
        yield* chunks();
        stop.abort();
        yield* chunks();
      })(),
    );
    const files = folderFiles(join(folder, `stop-${how}`));
    const writing = writeTable(files, { name: 't', rows }, { key: await keyFor(), signal: stop.signal });
    await assert.rejects(writing, { name: 'AbortError' });
  });
}
