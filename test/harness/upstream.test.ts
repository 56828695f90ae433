import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import OpenAI from 'openai';
import { Agent, request } from 'undici';
import { gate, oddUsages, piece, reply, startUpstream, type Upstream, usage } from './upstream.ts';

describe('the scripted upstream', { timeout: 20_000 }, () => {
  let upstream: Upstream;
  let agent: Agent;
  beforeEach(async () => {
    upstream = await startUpstream();
    agent = new Agent({ connections: 1, pipelining: 1 });
  });
  afterEach(async () => {
    await agent.destroy();
    await upstream.close();
    assert.deepEqual(upstream.faults, []);
  });

  async function send(body: object = {}, path = '/chat/completions', signal?: AbortSignal) {
    const response = await request(`${upstream.url}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-secret', 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
      dispatcher: agent,
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.statusCode, headers: response.headers, body: response.body };
  }

  it('satisfies the OpenAI client, whole and streamed, on chat and completions', async () => {
    const client = new OpenAI({ apiKey: 'k', baseURL: upstream.url, maxRetries: 0 });
    upstream.always(reply.chat('안녕, 세상!'));
    const messages = [{ role: 'user' as const, content: 'hi' }];
    const whole = await client.chat.completions.create({ model: 'm', messages });
    assert.equal(whole.choices[0]?.message.content, '안녕, 세상!');
    assert.deepEqual(whole.usage, usage(10, 5));
    let text = '';
    const counted: unknown[] = [];
    const options = { stream: true as const, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create({ model: 'm', messages, ...options })) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.usage) counted.push(chunk.usage);
    }
    assert.equal(text, '안녕, 세상!');
    assert.deepEqual(counted, [usage(10, 5)]);
    const completion = await client.completions.create({ model: 'm', prompt: 'hi' });
    assert.equal(completion.choices[0]?.text, '안녕, 세상!');
    text = '';
    for await (const chunk of await client.completions.create({ model: 'm', prompt: 'hi', stream: true })) {
      text += chunk.choices[0]?.text ?? '';
      assert.equal(chunk.usage, undefined);
    }
    assert.equal(text, '안녕, 세상!');
    assert.deepEqual(
      upstream.requests.map((received) => received.path),
      ['/v1/chat/completions', '/v1/chat/completions', '/v1/completions', '/v1/completions'],
    );
  });

  it('uses queued replies in order, then the default one, on one kept connection', async () => {
    upstream.always(reply.chat('rest'));
    upstream.next(
      reply.status(500),
      reply.tooMany('3'),
      reply.status(502, '<h1>no</h1>'),
      reply.status(503, null),
    );
    const seen: [number, string][] = [];
    for (let n = 0; n < 5; n += 1) {
      const response = await send();
      seen.push([response.status, (await response.body.text()).slice(0, 18)]);
    }
    assert.deepEqual(seen, [
      [500, '{"error":{"message'],
      [429, '{"error":{"message'],
      [502, '<h1>no</h1>'],
      [503, ''],
      [200, '{"id":"chatcmpl-00'],
    ]);
    assert.deepEqual([upstream.connections, upstream.openSockets, upstream.unused], [1, 1, 0]);
  });

  it('records the request as it was sent', async () => {
    await (await send({ seed: 7 })).body.text();
    const received = await upstream.request(1);
    assert.equal(received.method, 'POST');
    assert.equal(received.header('AUTHORIZATION'), 'Bearer sk-secret');
    assert.ok(received.headers.some(([name]) => name === 'Content-Type'));
    assert.deepEqual(received.body, { model: 'm', seed: 7 });
    assert.equal((await received.ended).how, 'complete');
  });

  it('sends exactly the bytes that a reply shows, and cuts them at every offset', async () => {
    const script = reply.stream(['안', { comment: 'ping' }, '녕'], {
      newline: '\r\n',
      bom: true,
      over: { id: 'x' },
    });
    const whole = script.bytes({ model: 'm' });
    for (let offset = 0; offset <= whole.length; offset += 7) {
      upstream.next(script.cutAt(offset, offset % 2 === 0 ? 'fin' : 'rst'));
      const got = await rawExchange(upstream.port, '{"model":"m"}');
      assert.deepEqual(got, whole.subarray(0, offset), `cut at ${offset}`);
    }
    assert.throws(() => script.cutAt(whole.length + 1).bytes({ model: 'm' }), RangeError);
  });

  it('splits writes so that a client in this process reads them separately', async () => {
    const script = reply.whole('가나');
    const at = script.bytes().indexOf(Buffer.from('가')) + 1;
    upstream.next(script.splitAt('head', at), script.byteByByte());
    const reads: Buffer[] = [];
    await rawExchange(upstream.port, '{}', reads);
    assert.equal(reads.length, 3);
    assert.equal(reads.at(1)?.at(-1), 0xea);
    reads.length = 0;
    const bytes = await rawExchange(upstream.port, '{}', reads);
    assert.equal(reads.length, bytes.length);
  });

  it('puts chunks that belong together into one write, and sends others one by one', async () => {
    const script = reply.stream(['a', 'b'], { framing: 'close' });
    upstream.next(script.joined(), script.drip(100, 1));
    const reads: Buffer[] = [];
    const together = await rawExchange(upstream.port, '{}', reads);
    assert.equal(reads.length, 1);
    reads.length = 0;
    assert.equal((await rawExchange(upstream.port, '{}', reads)).length, together.length);
    assert.ok(reads.length > together.length / 100);
  });

  it('waits at a gate until it is opened', async () => {
    const before = gate();
    const middle = gate();
    upstream.next(reply.stream(['a', middle, 'b']).pauseAt('head', before));
    const response = await send({ stream: true });
    await before.reached;
    assert.equal(response.status, 200);
    const reader = response.body[Symbol.asyncIterator]();
    before.open();
    assert.match(String((await reader.next()).value), /assistant/);
    await middle.reached;
    assert.match(String((await reader.next()).value), /"a"/);
    middle.open();
    assert.match(String((await reader.next()).value), /"b"/);
  });

  it('detects a client that disconnects, in the middle of a stream and before the head', async () => {
    for (const script of [reply.stream(['a', gate()]), reply.hang(), reply.whole('x').cutAt(-1, 'never')]) {
      upstream.next(script);
      const leave = new AbortController();
      const n = upstream.requests.length + 1;
      const lost = send({ stream: true }, '/chat/completions', leave.signal).then((response) =>
        response.body.text(),
      );
      const received = await upstream.request(n);
      leave.abort();
      await assert.rejects(lost);
      assert.ok((await received.aborted) >= received.atMs);
      assert.equal((await received.ended).how, 'aborted');
      assert.notEqual(received.abortedAtMs, null);
    }
    assert.deepEqual(
      upstream.hangUps.map((hangUp) => hangUp.midResponse),
      [true, true, true],
    );
  });

  it('responds before the request body was read', async () => {
    upstream.next(reply.status(413, { error: 'too large' }).beforeBody().thenClose('fin'));
    const socket = connect(upstream.port, '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 1000\r\n\r\n{"half":');
    const [bytes] = await Array.fromAsync(socket);
    assert.match(String(bytes), /^HTTP\/1\.1 413 /);
    assert.equal(upstream.requests[0]?.raw.length, 0);
  });

  it('misbehaves in its responses as scripted', async () => {
    upstream.next(
      reply.leak(),
      reply.redirect('http://127.0.0.1:1/'),
      reply.json({ error: { message: 'no', code: 500 } }),
      reply.chat([...piece.tool(0, 'f', '{"a"', ':1}'), piece.error('overloaded', 'sorry')], { done: false }),
      reply.whole('x', { usage: oddUsages['strings'], finish: null, over: { id: undefined } }),
      reply.echo(),
    );
    assert.match(await (await send()).body.text(), /Bearer sk-secret/);
    assert.equal((await send()).headers['location'], 'http://127.0.0.1:1/');
    assert.match(await (await send()).body.text(), /"code":500/);
    const stream = await (await send({ stream: true })).body.text();
    assert.match(stream, /"name":"f"[\s\S]*"arguments":":1}"[\s\S]*"code":"overloaded"/);
    assert.doesNotMatch(stream, /DONE|usage/);
    assert.match(await (await send()).body.text(), /^{"object".*"finish_reason":null.*"prompt_tokens":"10"/);
    assert.match(await (await send({ top: 1 })).body.text(), /\\"top\\":1/);
    upstream.next(reply.whole('long', { framing: { length: 10_000 } }).thenClose());
    await assert.rejects((await send()).body.text());
    upstream.next(reply.raw('\0garbage\n\n'));
    await assert.rejects(send());
    upstream.next(reply.stream(['until', ' the end'], { framing: 'close' }));
    assert.match(await (await send()).body.text(), /the end[\s\S]*DONE/);
  });
});

/**
 * One request over its own socket; returns what arrived until the other side ended or the stated
 * length was complete.
 */
async function rawExchange(port: number, body: string, reads: Buffer[] = []): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const done = Promise.withResolvers<void>();
  socket.on('data', (bytes) => {
    reads.push(Buffer.from(bytes));
    const all = Buffer.concat(reads);
    const head = all.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/.exec(all.toString('latin1'))?.[1];
    if (length !== undefined && all.length === head + 4 + Number(length)) done.resolve();
  });
  socket.once('error', () => done.resolve());
  socket.once('close', () => done.resolve());
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await done.promise;
  socket.destroy();
  return Buffer.concat(reads);
}
