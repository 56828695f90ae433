/** A client that is rejected while it still sends the body can read the reason. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';

const mb = 1024 * 1024;
let naru: TestGateway;

before(async () => {
  naru = await startTestGateway({ config: { limits: { body_bytes: 20 * mb } } });
});
after(() => naru?.close());

/** What a client reads that sends all it has before it reads anything, as many do. */
async function sendAllThenRead(head: string, bytes: Buffer, version = '1.1'): Promise<string> {
  const socket = connect({ port: naru.gateway.server.port, host: '127.0.0.1' }).pause();
  await once(socket, 'connect');
  socket.write(`POST /api/v1/chat/completions HTTP/${version}\r\nhost: x\r\n${head}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    socket.once('error', reject);
  });
  const pieces = await socket.setEncoding('utf8').toArray();
  return pieces.join('');
}

const body = Buffer.alloc(32 * mb, 'a');

// spec:conformance/250
test('a client that sends all of a body that is too large reads the error with the configured limit', async () => {
  const size = body.length.toString(16);
  const chunked = Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  const { key } = await naru.account();
  const declared = await sendAllThenRead(`content-length: ${body.length}`, body);
  const undeclared = await sendAllThenRead(
    `authorization: Bearer ${key}\r\ntransfer-encoding: chunked`,
    chunked,
  );
  for (const response of [declared, undeclared]) {
    assert.match(response, /^HTTP\/1\.1 413 /);
    assert.ok(
      response.endsWith('\r\n\r\nRequest body too large: at most 20971520 bytes are accepted.\n'),
      response,
    );
  }
});

// spec:conformance/251
test('a client that sends Connection: close and is rejected before its body was read reads the error', async () => {
  const admissible = body.subarray(0, 20 * mb);
  for (const version of ['1.0', '1.1']) {
    const head = `connection: close\r\ncontent-length: ${admissible.length}`;
    assert.match(
      await sendAllThenRead(head, admissible, version),
      /^HTTP\/1\.1 401 [\s\S]*"invalid_api_key"\}\}\}$/,
    );
  }
});
