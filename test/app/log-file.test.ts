import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLogFile } from '../../src/log/log-file.ts';
import { tempDir } from '../harness/fake-engine.ts';

/*
 * The number of a closed file is reused by the next file or socket: old code that still has the
 * number writes there, and closes that.
 */

const line = `{"level":"info","event":"${'x'.repeat(50)}"}\n`;

test('a log that cannot be rotated continues in its file, and touches no other', () => {
  const dir = tempDir();
  const log = openLogFile(dir, () => {}, 100);
  mkdirSync(join(dir, 'naru.log.1', 'in-the-way'), { recursive: true });
  for (let lines = 0; lines < 3; lines += 1) log.sink(line);
  const other = openSync(join(dir, 'other'), 'w');
  for (let lines = 0; lines < 3; lines += 1) log.sink(line);
  writeSync(other, 'mine');
  closeSync(other);
  assert.equal(readFileSync(join(dir, 'other'), 'utf8'), 'mine');
  assert.equal(readFileSync(log.path, 'utf8'), line.repeat(6));
  rmSync(join(dir, 'naru.log.1'), { recursive: true });
  log.sink(line);
  assert.equal(readFileSync(log.path, 'utf8'), line);
  assert.equal(readFileSync(`${log.path}.1`, 'utf8'), line.repeat(6));
  log.close();
});

test('a line that comes after the log was closed is dropped', () => {
  const dir = tempDir();
  const log = openLogFile(dir, () => {});
  log.close();
  const other = openSync(join(dir, 'other'), 'w');
  log.sink(line);
  closeSync(other);
  assert.equal(readFileSync(join(dir, 'other'), 'utf8'), '');
});
