/**
 * Names that every JavaScript object has, or that change one, wherever a client may send a name.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ByteStream } from '../../src/upstreams/byte-stream.ts';
import { decoded } from '../../src/upstreams/decode.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty'];
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
let management: string;
let unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

before(async () => {
  process.on('unhandledRejection', note);
  upstream = await startUpstream();
  upstream.always(reply.chat('네'));
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  account = await naru.account({ credit: '100000000' });
  management = (await account.another({ kind: 'management' })).key;
});
after(async () => {
  process.off('unhandledRejection', note);
  await naru?.close();
  await upstream?.close();
});

/** Nothing was added to, or removed from, what every object inherits. */
function assertClean(): void {
  const seen: string[] = [];
  for (const name in {}) seen.push(name);
  assert.deepEqual(seen, []);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.deepEqual(unhandled, []);
  unhandled = [];
}

// security:20
test('no name in a request body reaches a prototype, and a part of an unknown kind is not media', async () => {
  for (const name of names) {
    const evil = `{"polluted":true,"${name}":{"polluted":true}}`;
    const bodies = [
      `{"model":"test/echo","messages":[{"role":"user","content":"hi"}],"${name}":${evil},"provider":${evil},"metadata":${evil}}`,
      `{"model":"test/echo","messages":[{"role":"user","content":[{"type":"${name}","text":"hi"},{"type":"text","text":"hi","${name}":${evil}}],"${name}":${evil}}]}`,
      `{"model":"test/echo","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"${name}","parameters":${evil}}}],"logit_bias":{"${name}":1}}`,
    ];
    for (const body of bodies) {
      const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
      if (response.status !== 200) assertError(response, 400, 'invalid_request');
      assert.ok([200, 400].includes(response.status), `${name}: ${response.text}`);
    }
    assertClean();
  }
});

// security:20
test('the names of Object.prototype are no model, no parameter, no page and no file', async () => {
  for (const name of names) {
    const chat = { model: name, messages: [{ role: 'user', content: 'hi' }] };
    assertError(
      await naru.send('POST', '/chat/completions', { key: account.key, body: chat }),
      400,
      'model_not_found',
    );
    assert.equal((await naru.send('GET', `/docs/${name}`)).status, 404);
    for (const path of [`/${name}`, `/models/${name}/${name}/endpoints`])
      assert.equal((await naru.send('GET', path, { key: account.key })).status, 404, path);
    const benchmarks = await naru.send('GET', `/benchmarks?source=${name}`, { key: account.key });
    assert.equal(benchmarks.status, 400, benchmarks.text);
    assert.equal((await naru.send('GET', `/models?order=${name}&${name}=1`)).status % 100 < 10, true);
    const admin = await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/${name}`);
    assert.equal(admin.status, 404);
    const response = await naru.send('POST', '/keys', {
      key: management,
      body: `{"name":"x","${name}":{"polluted":1}}`,
    });
    assert.ok([201, 400].includes(response.status), response.text);
    assertClean();
  }
});

// security:20
test('a content encoding with such a name breaks its own stream and nothing else', async () => {
  for (const name of [...names, 'gzip, constructor', 'toString, gzip']) {
    const body = new ByteStream();
    body.push(gzipSync('x'));
    body.end();
    const plain = decoded(body, name);
    await assert.rejects(async () => {
      while ((await plain.next()) !== null);
    }, /unknown/);
    upstream.next(reply.status(200, { choices: [] }, { 'content-encoding': name }));
    const response = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] },
    });
    assertError(response, 502, 'provider_error');
    await new Promise((resolve) => setImmediate(resolve));
    assertClean();
  }
});

// security:20
test('no upstream response reaches a prototype', async () => {
  for (const name of names) {
    const evil = JSON.parse(`{"polluted":true,"${name}":{"polluted":true}}`);
    const choice = { index: 0, message: { role: 'assistant', content: '네', ...evil }, finish_reason: name };
    const usage = { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: evil, ...evil };
    upstream.next(reply.status(200, { choices: [choice], usage, ...evil }));
    const response = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] },
    });
    assert.ok([200, 502].includes(response.status), response.text);
    assert.doesNotMatch(response.text, /polluted/);
    assertClean();
  }
});

// security:15
test('numeric names that collide in a hash table cost no more than other names', async () => {
  const count = 100_000;
  // Array indices whose hash is their value in an engine without a seed: all of one bucket.
  const colliding = Array.from({ length: count }, (_, n) => `"${(n * 16_384) % 4_294_967_291}":0`).join(',');
  const plain = Array.from({ length: count }, (_, n) => `"k${n}":0`).join(',');
  const timed = (text: string): number => {
    const beganMs = performance.now();
    JSON.parse(text);
    return performance.now() - beganMs;
  };
  const best = (text: string): number => Math.min(...Array.from({ length: 5 }, () => timed(text)));
  const [hostileMs, usualMs] = [best(`{${colliding}}`), best(`{${plain}}`)];
  assert.ok(hostileMs < 10 * usualMs + 20, `${hostileMs} ms against ${usualMs} ms`);
});
