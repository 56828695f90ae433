import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../harness/free-port.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { type RunningEngine, spawnEngine, startEngine } from './running-engine.ts';

let engine: RunningEngine;
before(async () => {
  engine = await startEngine(['--parallel', '1']);
});
after(async () => await engine.stop());

test("usage equals the tokenizer's count, streamed and not", async () => {
  const question = 'What is a slot?';
  const whole = await engine.question(question);
  const tokens = async (content: string): Promise<number> =>
    ((await (await engine.post('/tokenize', { content })).json()) as { tokens: readonly number[] }).tokens
      .length;
  assert.equal(whole.usage.prompt_tokens, await tokens(`<s><|user|> ${question.toLowerCase()}<|assistant|>`));
  assert.equal(whole.usage.completion_tokens, await tokens(whole.text));
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
  assert.deepEqual((await engine.requestInChunks(question)).usage, whole.usage);
});

test('max_tokens ends a response with finish_reason length after exactly that many tokens', async () => {
  for (const limit of [{ max_tokens: 5 }, { max_completion_tokens: 5, max_tokens: 9 }]) {
    const whole = await engine.question('나루가 뭐야?', limit);
    assert.equal(whole.finish, 'length');
    assert.equal(whole.usage.completion_tokens, 5);
    const streamed = await engine.requestInChunks('나루가 뭐야?', limit);
    assert.equal(streamed.text, whole.text);
    assert.equal(streamed.finish, 'length');
    assert.equal(streamed.usage?.completion_tokens, 5);
  }
});

test('a stop string ends the response before it, and no part of it is sent', async () => {
  for (const stop of ['runs on', [' machines', 'its own']]) {
    const whole = await engine.question('What is Naru?', { stop });
    const streamed = await engine.requestInChunks('What is Naru?', { stop });
    assert.match(whole.text, /^Naru is an inference gateway that a company (runs on )?$/);
    assert.equal(streamed.text, whole.text);
    assert.equal(whole.finish, 'stop');
    assert.equal(streamed.finish, 'stop');
    assert.deepEqual(streamed.usage, whole.usage);
  }
});

test('a seed makes a response at high temperature repeatable, streamed and not', async () => {
  const options = { temperature: 2, seed: 5, max_tokens: 80 };
  const whole = await engine.question('나루가 뭐야?', options);
  assert.equal((await engine.question('나루가 뭐야?', options)).text, whole.text);
  assert.equal((await engine.requestInChunks('나루가 뭐야?', options)).text, whole.text);
  assert.notEqual((await engine.question('나루가 뭐야?', { ...options, seed: 6 })).text, whole.text);
});

test('a client that disconnects frees its lane at once, and one that waits leaves the queue', async () => {
  const begunMs = performance.now();
  await (await engine.post('/v1/chat/completions', slow)).json();
  const aloneMs = performance.now() - begunMs;
  const gone = new AbortController();
  const calls = [1, 2, 3].map(async () => await engine.post('/v1/chat/completions', slow, gone.signal));
  const ended = Promise.allSettled(calls);
  await untilBusy(engine);
  gone.abort();
  const hungUpMs = performance.now();
  assert.ok((await ended).every(({ status }) => status === 'rejected'));
  assert.equal((await engine.question('What is Naru?')).finish, 'stop');
  const waitedMs = performance.now() - hungUpMs;
  assert.ok(waitedMs < aloneMs, `the response took ${waitedMs} ms: it waited for an abandoned request`);
  assert.equal(await busy(engine), 0);
});

test('many clients that disconnect at any moment do no harm', async () => {
  const rounds = byTier(3, 15);
  for (let round = 0; round < rounds; round++) {
    const gone = new AbortController();
    const body = { ...slow, stream: true };
    const calls = [1, 2].map(async () => await engine.post('/v1/chat/completions', body, gone.signal));
    const ended = Promise.allSettled(calls);
    await wait((round * 45) / rounds);
    gone.abort();
    await ended;
    assert.match((await engine.question('What is Naru?')).text, /^Naru is an inference gateway/);
  }
});

test('invalid requests are rejected in the shape of OpenAI, naming the field', async () => {
  const messages = [{ role: 'user', content: 'hello' }];
  const cases: readonly (readonly [body: unknown, param: string | null])[] = [
    ['{"messages": [', null],
    ['[]', null],
    [{}, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ content: 'hello' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'wizard', content: 'hello' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content'],
    [{ messages, max_tokens: 0 }, 'max_tokens'],
    [{ messages, temperature: 'hot' }, 'temperature'],
    [{ messages, n: 2 }, 'n'],
    [{ messages, stop: [''] }, 'stop'],
    [{ messages, stream: 'yes' }, 'stream'],
  ];
  for (const [body, param] of cases) {
    const response = await engine.post('/v1/chat/completions', body);
    const { error } = (await response.json()) as {
      error: { message: string; type: string; param: string | null };
    };
    assert.equal(response.status, 400, JSON.stringify(body));
    assert.deepEqual([error.type, error.param], ['invalid_request_error', param]);
    assert.notEqual(error.message, '');
  }
});

test('a prompt beyond the context is rejected, streamed or not, before any byte is sent', async () => {
  const messages = [{ role: 'user', content: '나루 '.repeat(40_000) }];
  for (const stream of [false, true]) {
    const response = await engine.post('/v1/chat/completions', { messages, stream });
    const { error } = (await response.json()) as { error: { code: string } };
    assert.equal(response.status, 400);
    assert.equal(error.code, 'context_length_exceeded');
  }
});

test('an unknown path is a 404 and the models are listed', async () => {
  assert.equal((await fetch(`${engine.url}/v1/nothing`)).status, 404);
  const { data } = (await (await fetch(`${engine.url}/v1/models`)).json()) as {
    data: readonly [{ id: string }];
  };
  assert.equal(data[0].id, 'naru-demo');
});

test('SIGTERM ends the server promptly, even during a request', async () => {
  const other = await startEngine(['--parallel', '1']);
  try {
    const call = other.post('/v1/chat/completions', slow).catch(() => null);
    await untilBusy(other);
    const exit = once(other.process, 'exit', { signal: AbortSignal.timeout(3000) });
    other.process.kill('SIGTERM');
    await exit;
    assert.equal(await call, null);
  } finally {
    other.process.kill('SIGKILL');
  }
});

test('until the model is loaded every request returns 503', async () => {
  const port = await freePort();
  const loading = spawnEngine(['--port', `${port}`, '--start-delay-ms', '60000']);
  try {
    const limit = AbortSignal.timeout(scaledLimit(5_000));
    const get = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    while ((await get('/health').catch(() => 0)) === 0) await wait(20, undefined, { signal: limit });
    assert.equal(await get('/health'), 503);
    assert.equal(await get('/v1/models'), 503);
  } finally {
    loading.kill('SIGTERM');
  }
});

/** A request whose prompt alone takes the engine a second or more to read. */
const slow = {
  messages: [{ role: 'user', content: 'read this word by word. '.repeat(2000) }],
  max_tokens: 1,
};

async function untilBusy(running: RunningEngine): Promise<void> {
  const limit = AbortSignal.timeout(5000);
  while ((await busy(running)) === 0) await wait(5, undefined, { signal: limit });
}

async function busy(running: RunningEngine): Promise<number> {
  return ((await (await fetch(`${running.url}/health`)).json()) as { readonly busy: number }).busy;
}
