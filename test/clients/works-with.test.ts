/** The steps of docs/works-with.md are run literally, by separate programs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { sample } from '../harness/tier.ts';
import { reply, usage } from '../harness/upstream.ts';
import { snippetWith } from '../works-with/client.ts';
import { clients } from '../works-with/clients.ts';

const root = join(import.meta.dirname, '../..');
const content = '나루는 배를 타는 곳입니다.';
let world: ClientWorld;
let folder: string;

before(async () => {
  world = await openClientWorld();
  folder = mkdtempSync(join(tmpdir(), 'naru-works-with-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
after(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Runs a program in an environment without anything that could replace its own settings; returns
 * its output.
 */
async function run(program: string): Promise<string> {
  const file = join(folder, 'program.ts');
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(err, '');
  return out;
}

const programs = clients.filter(({ language }) => language === 'ts');

/** `app-headers.test.ts` runs programs of the other packages, and all have tests in one process. */
for (const client of sample(programs, 2)) {
  test(`${client.package}, set up as documented, gets a response, is billed, and is identified as ${client.app}`, async () => {
    const payer = await world.payer();
    world.upstream.next(reply.chat(content, { usage: usage(10, 5) }));
    const printed = await run(snippetWith(client, { url: world.url, key: payer.key, model: clientModel }));
    assert.equal(printed, `${content}\n`);
    await payer.charged(20);
    const [record] = (await ledgerOf(world.naru, payer)).records;
    assert.equal(record.app_title, client.app, record.user_agent);
  });
}
