import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { schemaFile } from '../../src/store/schema-sql.ts';

/** A folder with the migrations of the program and one more, `9999-next`: that of a newer version. */
export function folderWithNext(t: TestContext, sql: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'naru-migrations-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(new URL('.', schemaFile), folder, { recursive: true });
  writeFileSync(join(folder, '9999-next.sql'), sql);
  return pathToFileURL(`${folder}/`);
}
