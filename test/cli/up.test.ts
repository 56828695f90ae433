import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { byTier } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import {
  collectOutput,
  createInstallation,
  endOf,
  type Installation,
  messagesOf,
  naru,
  type Serving,
  wrapped,
} from './naru.ts';

/* `naru up`, as an operator uses it. */

let installation: Installation;

before(() => {
  installation = createInstallation();
});
after(() => installation?.remove());

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Every descendant of a process, as /proc has it. */
function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === ''
    ? []
    : children.split(' ').flatMap((child) => [Number(child), ...familyOf(Number(child))]);
}

async function send(serving: Serving): Promise<string> {
  const [line = ''] = serving.out().match(/^curl .*$/m) ?? [];
  const key = /Bearer (\S+)'/.exec(line)?.[1];
  const body = /-d '(.*)'$/.exec(line)?.[1];
  const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text).choices[0].message.content;
}

test('the first start prints keys and a command to which the demo model responds; SIGTERM leaves no process', async () => {
  const serving = await installation.up();
  assert.match(serving.out(), /\nlistening on http:\/\/127\.0\.0\.1:\d+\n$/);
  assert.match(await send(serving), /나루/);
  const family = familyOf(serving.child.pid ?? 0);
  assert.ok(family.length > 0);
  assert.equal(await serving.stop(), 0);
  assert.deepEqual(family.filter(isAlive), []);
});

test('the second start, below npm, prints only its address; another server beside it reports the process that has the data directory; SIGKILL of the parent ends it', async () => {
  // The full tier kills the wrapper too.
  for (const victim of byTier(['npm'] as const, ['wrapper', 'npm'] as const)) {
    const args = ['up', '--port', '0', '--data-dir', installation.dataDir];
    const { parent, wrapper } = await wrapped(victim, args);
    const { out, err } = collectOutput(parent);
    const [, origin] = await eventually('the server', 30_000, () =>
      /^listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(out()),
    );
    assert.doesNotMatch(err(), /sk-/);
    const other = await installation.run('up', '--port', '0');
    assert.deepEqual([other.code, other.out], [1, '']);
    const holder = /^.* is in use by process (\d+) \(naru up, listening on (\S+)\).*\n$/.exec(
      messagesOf(other.err),
    );
    assert.equal(holder?.[2], origin, other.err);
    const family = familyOf(wrapper());
    assert.ok(family.includes(Number(holder?.[1])), `${holder?.[1]} is not in ${victim}: ${family}`);
    assert.ok(family.length > 1, `${victim}: ${family}`);
    const ended = endOf(parent);
    process.kill(victim === 'wrapper' ? wrapper() : (parent.pid ?? 0), 'SIGKILL');
    await eventually(`the end after ${victim}`, 15_000, () => (family.some(isAlive) ? null : true));
    await ended;
  }
});

test('a port in use is a one-line error that names --port, and no process is left running', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, out, err } = await installation.run('up', '--port', String(port));
  taken.close();
  assert.deepEqual([code, out], [1, '']);
  assert.match(
    messagesOf(err),
    new RegExp(`^port ${port} on 127\\.0\\.0\\.1 is in use by another program: .*--port N.*\\n$`),
  );
  // The lock of the directory is free again.
  assert.equal((await installation.json('account', 'list')).code, 0);
});

test('an unusable data directory is an error without a stack', async () => {
  const file = join(installation.folder, 'a-file');
  writeFileSync(file, '');
  const { code, out, err } = await naru('up', '--port', '0', '--data-dir', join(file, 'data'));
  assert.deepEqual([code, out], [1, '']);
  assert.match(messagesOf(err), /^the data directory .*a-file\/data cannot be used: /);
  assert.doesNotMatch(err, /\n {4}at /);
});

test('a file with faults stops the start before any data is touched', async () => {
  const file = installation.configure({ modles: [] });
  const fresh = createInstallation();
  const { code, err } = await fresh.run('up', '--config', file);
  assert.equal(code, 1);
  assert.match(messagesOf(err), /^the configuration has 1 fault:\n.*modles: unknown member/);
  fresh.remove();
});
