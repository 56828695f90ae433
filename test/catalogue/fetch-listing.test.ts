import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fetchListing } from '../../src/catalogue/listing/fetch-listing.ts';
import { ModelMetadataError } from '../../src/config/model-metadata/metadata.ts';

/* A listing is fetched over a real socket, from a source that does as it likes. */

let server: Server;
let origin: string;
const requests: IncomingMessage[] = [];

const responses: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/models': (response) => response.end('{"data":["한글"]}'),
  '/query?key=secret': (response) => response.end('{"with":"a query"}'),
  '/moved': (response) => response.writeHead(302, { location: '/models' }).end(),
  '/round': (response) => response.writeHead(307, { location: '/round' }).end(),
  '/out': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/login': (response) => response.writeHead(302, { location: 'http://me:pw@127.0.0.1:1/' }).end(),
  '/nowhere': (response) => response.writeHead(302).end(),
  '/gone': (response) => response.writeHead(404).end('secret detail'),
  '/large': (response) => response.end('x'.repeat(200_000)),
  '/endless': (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  },
  '/silent': () => {},
  '/half': (response) => {
    response.writeHead(200, { 'content-length': 1000 }).write('{"data":');
    setImmediate(() => response.destroy());
  },
  '/stalled': (response) => void response.write('{"data":'),
  '/gzip': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1_000_000))),
  '/latin': (response) => response.end(Buffer.from([0x7b, 0xe9, 0x7d])),
};

before(async () => {
  server = createServer((request, response) => {
    requests.push(request);
    const reply = responses[request.url ?? ''];
    if (reply === undefined) response.writeHead(500).end();
    else reply(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server?.closeAllConnections();
  server?.close();
});

const limits = { connectMs: 2_000, wholeMs: 20_000, bodyBytes: 100_000, redirects: 3 };

async function refused(url: string, message: RegExp, shorter: Partial<typeof limits> = {}): Promise<void> {
  await assert.rejects(
    fetchListing(url.startsWith('/') ? `${origin}${url}` : url, { ...limits, ...shorter }),
    (error) =>
      error instanceof ModelMetadataError && message.test(error.message) && !/secret|pw@/.test(error.message),
    url,
  );
}

test('the listing is fetched from a URL, also through a redirect, without credentials', async () => {
  assert.equal(await fetchListing(`${origin}/models`, limits), '{"data":["한글"]}');
  assert.equal(await fetchListing(`${origin}/moved`, limits), '{"data":["한글"]}');
  assert.equal(await fetchListing(`${origin}/query?key=secret`, limits), '{"with":"a query"}');
  for (const { headers } of requests) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers.cookie, undefined);
  }
});

test('redirects are bounded and may lead only to http and https', async () => {
  const before = requests.length;
  await refused('/round', /redirects more than 3 times/);
  assert.equal(requests.length - before, 4);
  await refused('/out', /address is not http or https/);
  await refused('/login', /contains a user or a password/);
  await refused('/nowhere', /the response status is 302/);
});

test('size and time are bounded for slow and endless responses', async () => {
  await refused('/large', /more than 100000 bytes/);
  await refused('/endless', /more than 100000 bytes/);
  await refused('/silent', /no complete response within 300 ms/, { wholeMs: 300 });
  await refused('/stalled', /no complete response within 300 ms/, { wholeMs: 300 });
});

test('a truncated or binary response is rejected', async () => {
  await refused('/gone', /the response status is 404/);
  await refused('/half', /./);
  await refused('/gzip', /compressed/);
  await refused('/latin', /not UTF-8/);
  await refused('ftp://127.0.0.1/x', /address is not http or https/);
  await refused('http://me:pw@127.0.0.1/', /a user or a password/);
  await refused('http://', /address is not http or https/);
  await refused('http://127.0.0.1:1/', /ECONNREFUSED/);
});
