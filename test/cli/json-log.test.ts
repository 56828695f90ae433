/** The log of a server and of its launcher, where no terminal shows it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';
import { collectOutput, createInstallation, endOf, root, wrapped } from './naru.ts';

type Row = Readonly<Record<string, unknown>>;

/** Every whole line; throws for one that is not JSON. */
const rowsOf = (text: string): readonly Row[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);

// spec:operator/3.5
test('every line is JSON, of the launcher, of reloads, of crashes; that of a request names model, provider and tokens', async (t) => {
  const upstream = await startUpstream();
  upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
  const installation = createInstallation({ hasCluster: true });
  t.after(() => Promise.all([upstream.close(), installation.remove()]));
  const price = { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true };
  const tree = (more: object = {}): object => ({
    providers: [{ slug: 'up', dialect: 'openai', base_url: upstream.url, api_key: 'k' }],
    models: [
      { id: 'test/echo', context_length: 1_000, price, candidates: [{ provider: 'up', model: 'echo' }] },
    ],
    ...more,
  });
  const file = installation.configure(tree());
  const args = ['up', '--json', '--port', '0', '--workers', '2', '--config', file];
  const { parent, wrapper } = await wrapped('npm', [...args, '--data-dir', installation.dataDir]);
  const ended = endOf(parent);
  const { out, err } = collectOutput(parent);
  t.after(() => parent.kill('SIGKILL'));
  const seen = (event: string, times = 1): Promise<Row> =>
    eventually(event, 60_000, () => {
      const found = [...rowsOf(out()), ...rowsOf(err())].filter((row) => row['event'] === event);
      return found[times - 1] ?? null;
    });
  const childOf = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);

  const { url } = await seen('listening');
  const { key } = await seen('demo_account');
  const send = (model: string): Promise<Response> =>
    fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'the secret prompt' }] }),
    });
  assert.equal((await send('test/echo')).status, 200);
  const { status, model, provider, prompt_tokens, completion_tokens } = await seen('request');
  assert.deepEqual(
    { status, model, provider, prompt_tokens, completion_tokens },
    { status: 200, model: 'test/echo', provider: 'up', prompt_tokens: 10, completion_tokens: 5 },
  );
  assert.equal((await send('test/none')).status, 400);
  const refused = await seen('request', 2);
  assert.deepEqual([refused['status'], refused['model'], refused['provider']], [400, 'test/none', undefined]);

  const reloads = rowsOf(err()).filter(({ event }) => event === 'configuration_reloaded').length;
  process.kill(wrapper(), 'SIGHUP');
  await seen('configuration_reloaded', reloads + 1);
  installation.configure(tree({ modles: [] }));
  process.kill(wrapper(), 'SIGHUP');
  const kept = await seen('configuration_not_reloaded');
  assert.match(String(kept['message']), /not reloaded.*\n.*modles: unknown member/);
  installation.configure(tree());
  process.kill(childOf(wrapper()), 'SIGKILL');
  const restarts = await eventually('the restart', 30_000, () => {
    const found = rowsOf(err()).find(({ message }) => /ended unexpectedly \(SIGKILL\)/.test(String(message)));
    return found ?? null;
  });
  assert.deepEqual([restarts['event'], restarts['level']], ['launcher', 'error']);
  await seen('listening', 2);
  process.kill(wrapper(), 'SIGTERM');
  await ended;
  await seen('shutting_down');
  for (const row of rowsOf(err())) {
    assert.match(String(row['at']), /^\d{4}-\d\d-\d\dT/);
    assert.match(String(row['level']), /^(debug|info|warn|error)$/);
    assert.equal(typeof row['event'], 'string');
  }
  assert.doesNotMatch(out() + err(), /the secret prompt/);
});

test('a start that fails logs why, as one line', async (t) => {
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({ modles: [] });
  const args = [join(root, 'scripts/with-node.mjs'), 'src/main.ts', 'up', '--config', file];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const { err } = collectOutput(child);
  assert.equal(await endOf(child), 1);
  const [row, ...more] = rowsOf(err());
  assert.deepEqual([row?.['event'], row?.['level'], more], ['server_failed', 'error', []]);
});
