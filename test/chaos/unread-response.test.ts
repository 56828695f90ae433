import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream } from '../harness/upstream.ts';

/** Whether the kernel still has the server's side of a connection as an open one. */
function isHeld(serverPort: number, clientPort: number): boolean {
  const hex = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'latin1').includes(`${hex(serverPort)} ${hex(clientPort)} 01`);
}

const options = process.platform === 'linux' ? {} : { skip: 'reads /proc/net/tcp' };

test(
  'a client that does not read a JSON response is disconnected after the stream limit; one that reads slowly is not',
  options,
  async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    // Twice what the kernel keeps for a connection.
    const text = 'the ferry crosses the river '.repeat(300_000);
    upstream.always(reply.whole(text));
    const naru = await startTestGateway({
      models: [{ id: 'test/echo', upstreams: [upstream.url] }],
      // A machine that runs neither side for so long must not cut off the slow reader.
      config: { limits: { stream_idle_timeout_ms: scaledLimit(1_500) } },
    });
    t.after(() => naru.close());
    const { key } = await naru.account({ credit: '100000000' });
    const send = (): ReturnType<typeof connect> => {
      const body = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hello' }] });
      const socket = connect(naru.gateway.server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nhost: naru\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return socket;
    };

    const slow = send();
    let received = 0;
    slow.on('data', (bytes) => {
      received += bytes.length;
      slow.pause();
      setTimeout(() => slow.resume(), received < 7_000_000 ? 30 : 0);
    });
    await until('a slow reader has it all', () => received > text.length || slow.closed, 60_000);
    assert.ok(received > text.length, `cut off after ${received} bytes`);
    slow.destroy();

    const mute = send().pause();
    t.after(() => mute.destroy());
    await until('the upstream gets the request', () => upstream.requests.length === 2, 20_000);
    const held = (): boolean => isHeld(naru.gateway.server.port, mute.localPort ?? 0);
    assert.ok(held());
    await until('it is cut off', () => !held(), 20_000);
    await until('it is in flight no more', () => naru.gateway.server.inFlight() === 0, 2_000);
    assert.equal(mute.destroyed, false, 'the client itself did nothing');
  },
);
