/** The programs that the page of apps shows are run as they stand. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import {
  type Client,
  clients,
  programOf,
  programWithKey,
} from '../../web/src/dashboard/apps/program-texts.ts';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { fullOnly, sample } from '../harness/tier.ts';
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

/** Runs a program of a client, which prints the response to a request of a payer. */
async function run(client: Client, program: string, env: Readonly<Record<string, string>>): Promise<void> {
  world.upstream.next(reply.chat('hello', { usage: usage(10, 5) }));
  const file = join(folder, client === 'curl' ? 'program.sh' : 'program.ts');
  writeFileSync(file, program);
  const child = spawn(client === 'curl' ? 'sh' : process.execPath, [file], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.match(out, /hello/, err);
}

/** Python runs in `npm run test:python-clients` only. */
const runnable = clients.filter((one) => one !== 'python');
/** The two programs of a client differ in the key and the headers: one of each shows that both work. */
const withKey = sample(runnable, 1);

for (const client of runnable) {
  // pages:U4
  test(`the program for ${client} states its app`, async () => {
    const payer = await world.payer();
    const context = { base: world.url, model: clientModel, message: '안녕하세요' };
    await run(client, programOf(client, context), { NARU_API_KEY: payer.key });
    await payer.charged(20);
    const [record] = (await ledgerOf(world.naru, payer)).records;
    assert.deepEqual([record.app_title, record.http_referer], ['My app', 'https://my-app.example']);
  });

  const options = withKey.includes(client) ? {} : fullOnly;
  // pages:U5c
  test(`the program for ${client} with a new key in it works as it is`, options, async () => {
    const payer = await world.payer();
    const context = { base: world.url, model: clientModel, message: '안녕하세요' };
    await run(client, programWithKey(client, context, payer.key), {});
    await payer.charged(20);
    const [record] = (await ledgerOf(world.naru, payer)).records;
    assert.equal(record.http_referer === 'https://my-app.example', false);
  });
}

test('the Python program with a new key in it has nothing that it does not need', () => {
  const context = { base: 'https://naru.example/api/v1', model: 'a/model', message: 'Hello' };
  assert.equal(
    programWithKey('python', context, 'sk-naru-v1-0'),
    `from openai import OpenAI

client = OpenAI(
    base_url="https://naru.example/api/v1",
    api_key="sk-naru-v1-0",
)
response = client.chat.completions.create(
    model="a/model",
    messages=[{"role": "user", "content": "Hello"}],
)
print(response.choices[0].message.content)`,
  );
});
