import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { stopListening } from '../../src/http/stop-listening.ts';
import { systemClock } from '../../src/time/clock.ts';

const clients = 20;

test('connections that wait for their accept are accepted before the socket is closed', async () => {
  const server = createServer((socket) => socket.end('served'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const closed = Promise.withResolvers<void>();
  const outcomes = await new Promise<readonly string[]>((resolve, reject) => {
    // In the phase of the loop that a signal or a socket wakes up: the next turn looks at no socket.
    stat('/', () => {
      const sockets = Array.from({ length: clients }, () => connect({ port, host: '127.0.0.1' }));
      Promise.all(sockets.map(outcomeOf)).then(resolve, reject);
      // By then the kernel has completed the connections.
      process.nextTick(() =>
        process.nextTick(() => void stopListening(server, systemClock, closed.resolve).catch(reject)),
      );
    });
  });
  assert.deepEqual(
    outcomes,
    outcomes.map(() => 'served'),
  );
  await closed.promise;
  const late = connect({ port, host: '127.0.0.1' });
  assert.equal(await outcomeOf(late), 'ECONNREFUSED');
});

/** What a client received, or the code of its error. */
function outcomeOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve(text));
  });
}
