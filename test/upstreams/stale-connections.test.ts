import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonResponse, response } from '../chaos/faults/payloads.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';

/** What an upstream does with the n-th request of a connection, counted from 1. */
type Conduct = (socket: Socket, nth: number) => void;

interface RawUpstream {
  readonly port: number;
  conduct: Conduct;
  /** Requests of each connection, whole ones only. */
  readonly requests: number[];
  /** The body of the last one. */
  body: string;
  close(): Promise<void>;
}

const responses: Conduct = (socket) => void socket.write(jsonResponse('hello'));

async function startRawUpstream(): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  const upstream = { conduct: responses, requests: [] as number[], body: '' };
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = upstream.requests.push(0) - 1;
    let inbox = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      inbox = Buffer.concat([inbox, data as Buffer]);
      const headEnd = inbox.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(inbox.toString('latin1'))?.[1] ?? 0);
      if (headEnd === -1 || inbox.length < headEnd + 4 + length) return;
      upstream.body = inbox.toString('utf8', headEnd + 4);
      inbox = Buffer.alloc(0);
      const nth = (upstream.requests[connection] ?? 0) + 1;
      upstream.requests[connection] = nth;
      upstream.conduct(socket, nth);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(upstream, {
    port: address.port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  });
}

describe('a connection that the upstream closed under a request', () => {
  let upstream: RawUpstream;
  let naru: TestGateway;
  let account: TestAccount;
  before(async () => {
    upstream = await startRawUpstream();
    naru = await startTestGateway({
      models: [{ id: 'test/m', upstreams: [`http://127.0.0.1:${upstream.port}/v1`] }],
    });
    account = await naru.account({ credit: '1000000000' });
  });
  after(async () => {
    await naru.close();
    await upstream.close();
  });

  function send(content = 'hi'): Promise<TestResponse> {
    naru.gateway.health.keepOnly(new Set());
    const body = { model: 'test/m', messages: [{ role: 'user', content }] };
    return naru.send('POST', '/chat/completions', { key: account.key, body });
  }

  for (const [how, close] of [
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    test(`a request on a reused connection that is ${how} without a byte is sent once more, on a new one`, async () => {
      upstream.conduct = (socket, nth) => (nth === 1 ? responses(socket, nth) : close(socket));
      upstream.requests.length = 0;
      for (let n = 0; n < 6; n += 1) assert.equal((await send()).status, 200, `request ${n}`);
      assert.ok(upstream.requests.includes(2), 'a connection was reused');
      const sent = upstream.requests.reduce((sum, count) => sum + count, 0);
      assert.equal(
        sent - 6,
        upstream.requests.filter((count) => count === 2).length,
        'one more try for each',
      );
    });

    test(`an upstream whose connections are always ${how} is tried exactly once more`, async () => {
      upstream.conduct = responses;
      assert.equal((await send()).status, 200);
      upstream.requests.length = 0;
      let tries = 0;
      upstream.conduct = (socket) => {
        tries += 1;
        close(socket);
      };
      assert.equal((await send()).status, 502);
      assert.equal(tries, 2);
      assert.equal((await send()).status, 502);
      assert.equal(tries, 3, 'a new connection is not stale');
    });
  }

  test('a large prompt arrives whole, and again when it is sent once more', async () => {
    const content = '안녕 hello '.repeat(2_500);
    upstream.conduct = (socket, nth) => (nth === 1 ? responses(socket, nth) : void socket.resetAndDestroy());
    upstream.requests.length = 0;
    for (let n = 0; n < 4; n += 1) {
      upstream.body = '';
      assert.equal((await send(content)).status, 200, `request ${n}`);
      assert.equal(JSON.parse(upstream.body).messages[0].content, content);
    }
    assert.ok(upstream.requests.includes(2), 'a connection was reused');
  });

  test('each request that is sent again is counted for its candidate and logged', async () => {
    upstream.conduct = responses;
    // The last act of `send` on the counter is its reset.
    assert.equal((await send()).status, 200);
    const resends = async () => {
      const page = await (await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics`)).text();
      assert.match(page, /^# TYPE naru_upstream_resends_total counter$/m);
      const [, label, value] =
        /^naru_upstream_resends_total\{candidate="([^"]+)"\} (\d+)$/m.exec(page) ?? assert.fail(page);
      return { label, value: Number(value) };
    };
    const before = await resends();
    const lines = () => naru.logged.filter(({ event }) => event === 'attempt_resent');
    const logged = lines().length;
    upstream.conduct = (socket, nth) => (nth === 1 ? responses(socket, nth) : void socket.resetAndDestroy());
    const body = { model: 'test/m', messages: [{ role: 'user', content: 'hi' }] };
    const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
    assert.equal(response.status, 200);
    assert.deepEqual(await resends(), { label: before.label, value: before.value + 1 });
    assert.equal(lines().length, logged + 1);
    const { request_id: requestId, candidate } = lines().at(-1) ?? assert.fail();
    assert.equal(candidate, before.label);
    assert.equal(requestId, response.headers.get('x-request-id'));
  });

  test('a request that got a byte of a response is not sent again', async () => {
    for (const bytes of ['H', 'HTTP/1.1 103 Early\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n']) {
      upstream.conduct = responses;
      assert.equal((await send()).status, 200);
      let tries = 0;
      upstream.conduct = (socket) => {
        tries += 1;
        socket.end(bytes);
      };
      assert.equal((await send()).status, 502);
      assert.equal(tries, 1, bytes);
    }
  });

  test('an upstream that closes idle connections after 50 ms fails no request', async () => {
    upstream.conduct = (socket) => {
      responses(socket, 1);
      socket.setTimeout(50, () => socket.end());
    };
    const statuses: number[] = [];
    const lane = async (): Promise<void> => {
      for (let n = 0; n < 20; n += 1) {
        statuses.push((await send()).status);
        await sleep(48 + (n % 5));
      }
    };
    const lanes = byTier(8, 30);
    await Promise.all(Array.from({ length: lanes }, lane));
    assert.equal(statuses.length, 20 * lanes);
    assert.deepEqual([...new Set(statuses)], [200]);
  });

  test('unexpected interim responses are skipped, in any number and however they are cut', async () => {
    const interim = (status: number): string =>
      `HTTP/1.1 ${status} Interim\r\nlink: </a>; rel=preload\r\n\r\n`;
    const final = jsonResponse('hello').toString('latin1');
    for (const before of [[102], [103], [102, 103, 103, 102], Array.from({ length: 90 }, () => 103)]) {
      const bytes = Buffer.from(before.map(interim).join('') + final, 'latin1');
      upstream.conduct = (socket) => void socket.write(bytes);
      assert.equal((await send()).status, 200, `${before}`);
      for (const at of [1, 9, 11, 12, 20, 30]) {
        upstream.conduct = (socket) => {
          socket.write(bytes.subarray(0, at));
          setImmediate(() => setImmediate(() => void socket.write(bytes.subarray(at))));
        };
        assert.equal((await send()).status, 200, `${before} cut at ${at}`);
      }
    }
  });

  test('a status that is none, of any number of digits, fails the candidate at once', async () => {
    for (const status of ['1000', '1', '10', '099', '000', '101', '1xx', '-100', '100x', '99999999']) {
      upstream.conduct = (socket) =>
        void socket.write(`HTTP/1.1 ${status} Odd\r\ncontent-length: 2\r\n\r\n{}`);
      const startedMs = performance.now();
      assert.equal((await send()).status, 502, status);
      assert.ok(performance.now() - startedMs < scaledLimit(5_000), status);
    }
  });

  test('a status without a body that has one fails the candidate, and its connection ends', async () => {
    for (const status of [204, 304]) {
      upstream.conduct = (socket, nth) =>
        nth === 1 ? void socket.write(response('{"a":1}', status)) : responses(socket, nth);
      upstream.requests.length = 0;
      assert.equal((await send()).status, 502, `${status}`);
      upstream.conduct = responses;
      assert.equal((await send()).status, 200);
    }
  });

  test('interim responses without an end are rejected', async () => {
    upstream.conduct = (socket) =>
      void socket.write(`HTTP/1.1 103 Early\r\n${'link: </a>\r\n'.repeat(20_000)}\r\n`);
    assert.equal((await send()).status, 502);
  });

  test('bytes behind a response are never read as the next one, and its provider is not reused', async () => {
    const right = jsonResponse('right');
    const extras = [jsonResponse('wrong'), Buffer.from('HTTP/1.1 200 OK\r\n'), Buffer.from('{}')];
    const waysOfSending: readonly ((socket: Socket, extra: Buffer) => void)[] = [
      (socket, extra) => void socket.write(Buffer.concat([right, extra])),
      (socket, extra) => {
        socket.write(right);
        socket.write(extra);
      },
      (socket, extra) => {
        socket.write(right);
        setTimeout(() => socket.write(extra), 20);
      },
    ];
    for (const extra of extras)
      for (const sendBoth of waysOfSending) {
        const ended = Promise.withResolvers<void>();
        upstream.conduct = (socket) => {
          socket.once('close', () => ended.resolve());
          sendBoth(socket, extra);
        };
        assert.match((await send()).text, /right/);
        await ended.promise;
      }
    upstream.requests.length = 0;
    upstream.conduct = (socket) => {
      socket.write(right);
      setTimeout(() => socket.write(jsonResponse('wrong')), 3);
    };
    for (let n = 0; n < 20; n += 1) assert.match((await send()).text, /right/);
    assert.deepEqual(upstream.requests, Array<number>(20).fill(1), 'one request on each connection');
  });
});
