/**
 * Clients that open a connection for each request, in a separate process. Arguments: port, key,
 * body, clients, milliseconds. Prints `{ok, other}`: complete responses of status 200, and the
 * rest.
 */
import { connect } from 'node:net';

const [port, key, body = '', clients, ms] = process.argv.slice(2);
const request = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: naru\r\nconnection: close\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const endMs = performance.now() + Number(ms);
let ok = 0;
let other = 0;

await Promise.all(
  Array.from({ length: Number(clients) }, async () => {
    while (performance.now() < endMs) {
      if (await once()) ok += 1;
      else other += 1;
    }
  }),
);
process.stdout.write(`${JSON.stringify({ ok, other })}\n`);

function once(): Promise<boolean> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1').setTimeout(20_000, () => socket.destroy());
    socket.on('connect', () => socket.write(request));
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text.startsWith('HTTP/1.1 200') && text.includes('"usage"')));
  });
}
