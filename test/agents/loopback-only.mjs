// Preloaded into an agent and into every Node program that it starts: a connection to another
// machine is cut, and its target is written into the file that NARU_OUTSIDE names.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';

const thisMachine = /^(127\.|::1$|localhost$)/;

subscribe('net.client.socket', ({ socket }) => {
  const refuse = (target) => {
    if (target === undefined || thisMachine.test(target)) return;
    appendFileSync(process.env.NARU_OUTSIDE, `${target}\n`);
    socket.destroy(new Error(`${target} is not this machine`));
  };
  socket.once('lookup', (_error, _address, _family, host) => refuse(host));
  socket.on('connectionAttempt', refuse);
});
