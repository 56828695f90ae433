/** The programs that the page of apps shows are run as they stand. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { clients, programOf } from '../../web/src/dashboard/apps/program-texts.ts';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { reply, usage } from '../harness/upstream.ts';

const root = join(import.meta.dirname, '../..');
let world: ClientWorld;
let folder: string;

before(async () => {
  world = await openClientWorld();
  folder = mkdtempSync(join(tmpdir(), 'naru-app-headers-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
after(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Python runs in `npm run test:python-clients` only. */
for (const client of clients.filter((one) => one !== 'python')) {
  // pages:U4
  test(`the program for ${client} states its app`, async () => {
    const payer = await world.payer();
    world.upstream.next(reply.chat('hello', { usage: usage(10, 5) }));
    const program = programOf(client, { base: world.url, model: clientModel, message: '안녕하세요' });
    const file = join(folder, client === 'curl' ? 'program.sh' : 'program.ts');
    writeFileSync(file, program);
    const child = spawn(client === 'curl' ? 'sh' : process.execPath, [file], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        NARU_API_KEY: payer.key,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.match(out, /hello/, err);
    await payer.charged(20);
    const [record] = (await ledgerOf(world.naru, payer)).records;
    assert.deepEqual([record.app_title, record.http_referer], ['My app', 'https://my-app.example']);
  });
}
