import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Watchdog } from '../../src/inference/time-limits.ts';
import { systemClock } from '../../src/time/clock.ts';

/** Keeps the process so busy that neither timers nor sockets have a turn. */
function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** In a separate thread, so that it sends while this one is busy. */
const peer = `
const { createServer } = require('node:net');
const { parentPort } = require('node:worker_threads');
const server = createServer((socket) => {
  socket.on('data', () => setTimeout(() => socket.write('in time'), 60));
  socket.on('error', () => {});
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('silence is bytes that did not arrive, not bytes that a busy process has not read yet', async () => {
  const worker = new Worker(peer, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const outcome = await new Promise<string>((resolve) => {
    const watchdog = new Watchdog(systemClock, 100, () => resolve('called silent'));
    socket.on('data', () => {
      watchdog.stop();
      resolve('received');
    });
    socket.write('request');
    // The words arrive after 60 ms, in time, and are read when the process has a turn again: long
    // after the limit. Blocked outside of a timer, like socket callbacks: timers have the first
    // turn then.
    setTimeout(() => setImmediate(() => block(300)), 20);
  });
  socket.destroy();
  await worker.terminate();
  assert.equal(outcome, 'received');
});

test('silence is reported when it lasts, and again when it continues', async () => {
  let reports = 0;
  const watchdog = new Watchdog(systemClock, 20, () => {
    reports += 1;
  });
  const endMs = performance.now() + 5_000;
  while (reports < 2 && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 5));
  watchdog.stop();
  assert.ok(reports >= 2);
});
