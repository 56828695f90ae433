import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type RunningEngine, startEngine, streamedAnswer } from './running-engine.ts';

let engine: RunningEngine;
before(async () => {
  engine = await startEngine(['--parallel', '1']);
});
after(async () => await engine.stop());

test('usage is what the tokenizer says, and the same whole and streamed', async () => {
  const question = 'What is a slot?';
  const whole = await engine.ask(question);
  const tokens = async (content: string): Promise<number> =>
    ((await (await engine.post('/tokenize', { content })).json()) as { tokens: readonly number[] }).tokens.length;
  assert.equal(whole.usage.prompt_tokens, await tokens(`<s><|user|> ${question.toLowerCase()}<|assistant|>`));
  assert.equal(whole.usage.completion_tokens, await tokens(whole.text));
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
  assert.deepEqual((await engine.askInChunks(question)).usage, whole.usage);
});

test('max_tokens ends an answer with finish_reason length, after just so many tokens', async () => {
  for (const limit of [{ max_tokens: 5 }, { max_completion_tokens: 5, max_tokens: 9 }]) {
    const whole = await engine.ask('나루가 뭐야?', limit);
    assert.equal(whole.finish, 'length');
    assert.equal(whole.usage.completion_tokens, 5);
    const streamed = await engine.askInChunks('나루가 뭐야?', limit);
    assert.equal(streamed.text, whole.text);
    assert.equal(streamed.finish, 'length');
    assert.equal(streamed.usage?.completion_tokens, 5);
  }
});

test('a stop string ends the answer before it, and no part of it is ever shown', async () => {
  for (const stop of ['runs on', [' machines', 'its own']]) {
    const whole = await engine.ask('What is Naru?', { stop });
    const streamed = await engine.askInChunks('What is Naru?', { stop });
    assert.match(whole.text, /^Naru is an inference gateway that a company (runs on )?$/);
    assert.equal(streamed.text, whole.text);
    assert.equal(whole.finish, 'stop');
    assert.equal(streamed.finish, 'stop');
    assert.deepEqual(streamed.usage, whole.usage);
  }
});

test('no piece of a stream is cut inside a character, even when the model speaks in single bytes', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const options = { temperature: 2, seed, max_tokens: 80 };
    const whole = await engine.ask('나루가 뭐야?', options);
    assert.equal((await engine.askInChunks('나루가 뭐야?', options)).text, whole.text, `seed ${seed}`);
  }
});

test('a client that hangs up frees the lane at once', async () => {
  // At this temperature an answer wanders on to its last token; the one lane is then taken for seconds.
  const endless = { stream: true, temperature: 2, seed: 3, max_tokens: 20_000, messages: [{ role: 'user', content: 'hello' }] };
  const gone = new AbortController();
  const streams = await Promise.all([1, 2, 3].map(async () => await startStream(endless, gone.signal)));
  gone.abort();
  await Promise.allSettled(streams);
  const answer = await engine.ask('What is Naru?');
  assert.equal(answer.finish, 'stop');
  assert.equal(await busy(), 0);
});

test('bad requests are refused in the shape of OpenAI, naming the field', async () => {
  const messages = [{ role: 'user', content: 'hello' }];
  const cases: readonly (readonly [body: unknown, param: string | null])[] = [
    ['{"messages": [', null],
    ['[]', 'the body'],
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
    const { error } = (await response.json()) as { error: { message: string; type: string; param: string | null } };
    assert.equal(response.status, 400, JSON.stringify(body));
    assert.deepEqual([error.type, error.param], ['invalid_request_error', param]);
    assert.notEqual(error.message, '');
  }
});

test('a prompt beyond the context is refused, whole and streamed, before anything is sent', async () => {
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
  const { data } = (await (await fetch(`${engine.url}/v1/models`)).json()) as { data: readonly [{ id: string }] };
  assert.equal(data[0].id, 'naru-demo');
});

test('SIGTERM ends the server within a second, even while it generates', async () => {
  const other = await startEngine(['--parallel', '1']);
  const body = { stream: true, temperature: 2, max_tokens: 20_000, messages: [{ role: 'user', content: 'hello' }] };
  const response = await other.post('/v1/chat/completions', body);
  const exit = once(other.process, 'exit', { signal: AbortSignal.timeout(1000) });
  other.process.kill('SIGTERM');
  await exit;
  await response.text().catch(() => '');
});

async function startStream(body: object, signal: AbortSignal): Promise<void> {
  const request = engine.post('/v1/chat/completions', body, signal).then(streamedAnswer);
  request.catch(() => {});
  // The first request has the lane once the engine counts it; the others wait behind it and never get that far.
  const deadline = AbortSignal.timeout(5000);
  while ((await busy()) === 0) await wait(5, undefined, { signal: deadline });
}

async function busy(): Promise<number> {
  return ((await (await fetch(`${engine.url}/health`)).json()) as { readonly busy: number }).busy;
}
