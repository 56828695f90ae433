/**
 * Bytes that two parties could parse in two ways, sent to Naru itself and to nginx in front of it.
 * The hidden part is never run as a request, and no client gets a response that was meant for
 * another.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { RawClient, type RawResponse } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { type Nginx, startNginx } from './nginx.ts';
import { asResponse } from './requests.ts';

let naru: TestGateway;
let nginx: Nginx;

before(async () => {
  naru = await startTestGateway({ config: { edge: { trusted_proxies: ['127.0.0.1'] } } });
  nginx = await startNginx({ behind: [naru.gateway.server.port], unlimited: true });
});
after(async () => {
  await nginx?.stop();
  await naru?.close();
});

/** If it ran, the path in its response, or in the log, would show it. */
const hidden = 'GET /api/v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
const post = 'POST /api/v1/outer HTTP/1.1\r\nhost: x\r\n';
const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Each is one request for every parser, or none at all. */
const ambiguous: Readonly<Record<string, string>> = {
  'a length and chunks, the rest behind the last chunk': `${post}content-length: ${5 + hidden.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'chunks and a length, in the other order': `${post}transfer-encoding: chunked\r\ncontent-length: ${5 + hidden.length}\r\n\r\n0\r\n\r\n${hidden}`,
  'two lengths': `${post}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'two equal lengths': `${post}content-length: ${hidden.length}\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a list of lengths': `${post}content-length: ${hidden.length}, ${hidden.length}\r\n\r\n${hidden}`,
  'a signed length': `${post}content-length: +${hidden.length}\r\n\r\n${hidden}`,
  'a length with a space inside its name': `${post}content-length : ${hidden.length}\r\n\r\n${hidden}`,
  'a length in hexadecimal': `${post}content-length: 0x${hidden.length.toString(16)}\r\n\r\n${hidden}`,
  'a length behind an underscore': `${post}content_length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'an encoding that is none': `${post}transfer-encoding: xchunked\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'two encodings': `${post}transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'an encoding behind a tab': `${post}transfer-encoding:\tchunked\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a folded encoding': `${post}transfer-encoding:\r\n chunked\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a folded header': `${post}x-a: b\r\n content-length: 4\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a NUL in a header': `${post}x-a: b\0c\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a carriage return in a header': `${post}x-a: b\rcontent-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a chunk extension': `${post}transfer-encoding: chunked\r\n\r\n${hidden.length.toString(16)};a="b"\r\n${hidden}\r\n0\r\n\r\n`,
  'a chunk extension with a line feed': `${post}transfer-encoding: chunked\r\n\r\n${hidden.length.toString(16)};a\n${hidden}\r\n0\r\n\r\n`,
  'a chunk size too large for a number': `${post}transfer-encoding: chunked\r\n\r\nfffffffffffffffff1\r\n${hidden}\r\n0\r\n\r\n`,
  'a chunk size with a sign': `${post}transfer-encoding: chunked\r\n\r\n-1\r\n${hidden}\r\n0\r\n\r\n`,
  'a chunk that is longer than its size line': `${post}transfer-encoding: chunked\r\n\r\n2\r\n${hidden}\r\n0\r\n\r\n`,
  'a request in the trailers': `${post}transfer-encoding: chunked\r\n\r\n0\r\nx-a: b\r\n${hidden}`,
  'a whole request as a body': `${post}content-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a whole request as a chunk': `${post}transfer-encoding: chunked\r\n\r\n${chunkOf(hidden)}0\r\n\r\n`,
  'a body behind GET': `GET /api/v1/outer HTTP/1.1\r\nhost: x\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'an offer to upgrade before a body': `${post}connection: upgrade, content-length\r\nupgrade: h2c\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'an expectation before a body': `${post}expect: 100-continue\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a request line with a line in it': `GET /api/v1/outer%0d%0a%0d%0aGET%20/api/v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n`,
  'a referer with a line in it': `GET /api/v1/outer HTTP/1.1\r\nhost: x\r\nreferer: a\\r\\nX-Injected: 1\r\n\r\n`,
  'an older version with chunks': `POST /api/v1/outer HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a bare line feed between headers': `${post}x-a: b\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'two hosts': `GET /api/v1/outer HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n`,
  'a tunnel': `CONNECT /api/v1/outer HTTP/1.1\r\nhost: x\r\n\r\n${hidden}`,
};

/**
 * All responses to the bytes sent, until the server closes or is silent for a while; it is waited
 * longer for those that are expected.
 */
async function responsesTo(port: number, bytes: string, expected = 1): Promise<readonly RawResponse[]> {
  const client = await RawClient.open(port);
  client.write(bytes);
  const responses: RawResponse[] = [];
  for (;;) {
    const quiet = new Promise<null>((resolve) =>
      setTimeout(resolve, responses.length < expected ? scaledLimit(3_000) : 150, null),
    );
    const response = await Promise.race([client.response(), quiet]);
    if (response === null) break;
    if (response.status !== 100) responses.push(response);
  }
  client.close();
  return responses;
}

test('the guard can fail: a request that is not hidden runs, and is detected', async () => {
  for (const port of [naru.gateway.server.port, nginx.port]) {
    const logged = naru.logged.length;
    const responses = await responsesTo(port, `GET /api/v1/outer HTTP/1.1\r\nhost: x\r\n\r\n${hidden}`, 2);
    assert.match(responses[1]?.body ?? '', /"path":"\/api\/v1\/smuggled"/);
    assert.ok(naru.logged.slice(logged).some((line) => line['path'] === '/api/v1/smuggled'));
  }
});

// spec:conformance/259
for (const [what, bytes] of Object.entries(ambiguous)) {
  // security:1
  test(`with nginx and without, ${what} smuggles no request`, async () => {
    for (const port of [naru.gateway.server.port, nginx.port]) {
      const where = port === nginx.port ? 'nginx' : 'Naru';
      const logged = naru.logged.length;
      const mine = `GET /api/v1/mine HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
      const [responses, ofOthers] = await Promise.all([
        responsesTo(port, `${bytes}${mine}`),
        Promise.all(Array.from({ length: 5 }, (_, n) => probe(port, `/api/v1/other/${n}`))),
      ]);
      for (const [n, path] of ofOthers.entries())
        assert.equal(path, `/api/v1/other/${n}`, `${where}: another client's response`);
      const ran = naru.logged
        .slice(logged)
        .filter((line) => String(line['path']).includes('smuggled') && line['path'] !== outerPath);
      assert.deepEqual(ran, [], `${where} ran what was hidden`);
      for (const response of responses) {
        assert.doesNotMatch(response.body, /"path":"\/api\/v1\/smuggled"/, where);
        assert.ok([400, 404, 405].includes(response.status), `${where}: ${response.status}`);
        assertError(
          asResponse(response),
          response.status,
          response.status === 400 ? 'invalid_request' : 'not_supported',
        );
      }
      const paths = responses.map((response) => JSON.parse(response.body).error.metadata.path ?? null);
      // Rejected, or one request with its own response and then mine with its own.
      const allowed = [
        [null],
        ['/api/v1/outer'],
        ['/api/v1/outer', null],
        ['/api/v1/outer', '/api/v1/mine'],
        [outerPath, '/api/v1/mine'],
        ['/api/v1/mine'],
        [],
      ];
      assert.ok(
        allowed.some((each) => JSON.stringify(each) === JSON.stringify(paths)),
        `${where}: ${JSON.stringify(paths)}`,
      );
    }
  });
}

const outerPath = '/api/v1/outer%0d%0a%0d%0aGET%20/api/v1/smuggled';

/** The path that the response to a request names. */
async function probe(port: number, path: string): Promise<string> {
  const client = await RawClient.open(port);
  client.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const response = await client.response();
  client.close();
  return JSON.parse(response?.body ?? '').error.metadata.path;
}

// spec:conformance/257
// security:2
test('no client value becomes a response header, with nginx and without', async () => {
  for (const port of [naru.gateway.server.port, nginx.port]) {
    for (const [name, value] of [
      ['x-service-request-id', 'mine%0d%0aX-Injected: 1'],
      ['origin', 'https://evil.example'],
      ['x-service-title', 'a\tb'],
      ['referer', 'é ü \xff'],
    ]) {
      const [response] = await responsesTo(
        port,
        `GET /api/v1/nowhere?a=%0d%0aX-Injected:1 HTTP/1.1\r\nhost: x\r\n${name}: ${value}\r\nconnection: close\r\n\r\n`,
      );
      assert.equal(response?.status, 404);
      assert.doesNotMatch(JSON.stringify(response.headers), /injected|evil|mine/i);
    }
  }
});

test('Naru rejects a head with bare line feeds; nginx accepts them as line ends and sends an ordinary request on', async () => {
  const bare = 'GET /api/v1/outer HTTP/1.1\nhost: x\nconnection: close\n\n';
  const [direct] = await responsesTo(naru.gateway.server.port, bare);
  assert.equal(direct?.status, 400);
  const responses = await responsesTo(nginx.port, bare);
  assert.equal(responses.length, 1);
  assert.equal(responses[0]?.status, 404);
  assert.match(responses[0]?.body ?? '', /"path":"\/api\/v1\/outer"/);
});
