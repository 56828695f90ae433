/**
 * A client that attacks with bodies, in a separate process. Arguments: port, key, kind of body,
 * requests a second, seconds, source address. Prints `ready`, and begins with a line on standard
 * input; prints the number of responses by status at the end.
 */
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { attackBody } from './attack-bodies.ts';

const [port, key, kind = '', perSecond, seconds, localAddress] = process.argv.slice(2);
const payload = attackBody(kind);
const head = [
  'POST /api/v1/chat/completions HTTP/1.1',
  'host: naru',
  'connection: close',
  `authorization: Bearer ${key}`,
  payload.isChunked ? 'transfer-encoding: chunked' : `content-length: ${payload.bytes.length}`,
].join('\r\n');
const counts: Record<string, number> = {};
let open = 0;

// An attacker has processors of its own; here it shares two with what it attacks.
setPriority(10);

process.stdout.write('ready\n');
createInterface({ input: process.stdin }).once('line', () => {
  const endMs = performance.now() + 1_000 * Number(seconds);
  const timer = setInterval(() => {
    if (performance.now() < endMs) return attack();
    clearInterval(timer);
    const wait = setInterval(() => {
      if (open > 0 && performance.now() < endMs + 20_000) return;
      clearInterval(wait);
      process.stdout.write(`${JSON.stringify(counts)}\n`);
      process.exit(0);
    }, 50);
  }, 1_000 / Number(perSecond));
});

function attack(): void {
  open += 1;
  let output = '';
  const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: String(localAddress) });
  socket.setTimeout(30_000, () => socket.destroy());
  socket.on('connect', () => {
    socket.write(`${head}\r\n\r\n`);
    socket.write(payload.bytes);
  });
  socket.on('data', (part) => {
    if (output === '') output = part.toString('latin1', 9, 12);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    open -= 1;
    const status = output === '' ? 'cut' : output;
    counts[status] = (counts[status] ?? 0) + 1;
  });
}
