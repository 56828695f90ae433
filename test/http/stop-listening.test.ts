import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, stat } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { stopListening } from '../../src/http/stop-listening.ts';
import { systemClock } from '../../src/time/clock.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';

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
        process.nextTick(
          () =>
            void stopListening(server, systemClock, { onClosed: closed.resolve, isShared: false }).catch(
              reject,
            ),
        ),
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

/** Clients of another process, each with a connection for each request; prints what they received. */
const crowd = `
  import { connect } from 'node:net';
  const seen = {};
  const request = (port) => new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('request'));
    socket.setEncoding('utf8').on('data', (part) => { text += part; });
    socket.on('error', (error) => { text = error.code; });
    socket.on('close', () => { seen[text] = (seen[text] ?? 0) + 1; resolve(text); });
  });
  const client = async (port) => { while ((await request(port)) !== 'ECONNREFUSED'); };
  process.on('message', async (port) => {
    await Promise.all(Array.from({ length: 12 }, () => client(port)));
    process.send(seen);
  });`;

test('no client is reset while others connect all the time', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', crowd], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.after(() => child.kill());
  let seen: Readonly<Record<string, number>> = {};
  const cookiesBefore = synCookies();
  for (let stops = 0; stops < byTier(4, 40); stops += 1) {
    const server = createServer((socket) => socket.once('data', () => socket.end('served')));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    child.send((server.address() as AddressInfo).port);
    await until('they are served', async () => (await connectionsOf(server)) > 0);
    const closed = Promise.withResolvers<void>();
    await stopListening(server, systemClock, { onClosed: closed.resolve, isShared: false });
    [seen] = await once(child, 'message');
    await closed.promise;
  }
  t.diagnostic(JSON.stringify(seen));
  assert.deepEqual(Object.keys(seen).toSorted(), ['ECONNREFUSED', 'served']);
  // A handshake with a cookie is in no table: nothing could wait for its end.
  assert.equal(synCookies(), cookiesBefore);
});

/** Handshakes that the kernel began with a cookie because too many were under way. */
function synCookies(): number {
  const [names = [], values = []] = readFileSync('/proc/net/netstat', 'latin1')
    .split('\n')
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('TCPReqQFullDoCookies')]);
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}

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
